// Reductions over axes. Those without a derivative (any, all, count_nonzero, argmax, argmin) are plain functions.
#pragma once

#include <span>

#include "engine/ops/op.h"
#include "engine/tensor.h"

namespace mercer {

/// Axes as a bit mask.
struct ReduceAttrs {
    unsigned axes;
    bool keep;
};
struct VarianceAttrs : ReduceAttrs {
    int64_t correction;
};
struct NormAttrs : ReduceAttrs {
    double p;
};
MERCER_API ReduceAttrs reduce_axes(const char* operation, std::span<const int> axes, int rank,
                                   bool keep);
MERCER_API ReduceAttrs reduce_all(int rank);
/// `shape` with the reduced axes left as 1.
MERCER_API Shape kept_shape(const Shape& shape, unsigned axes);
/// The number of elements reduced into one.
MERCER_API int64_t reduced_count(const Shape& shape, unsigned axes);
/// n − correction, but no less than 0.
MERCER_API double degrees_of_freedom(const Shape& shape, const VarianceAttrs& attrs);

#define MERCER_REDUCTION_OP(Name, text, Attributes, reads)              \
    struct MERCER_API Name : Reads<reads> {                             \
        static constexpr const char* name = text;                       \
        using Attrs = Attributes;                                       \
        static Tensor forward(const Attrs&, std::span<const Tensor> x); \
        template <class X>                                              \
        static void vjp(Vjp<X>& c);                                     \
    };
MERCER_REDUCTION_OP(Sum, "sum", ReduceAttrs, 0)
MERCER_REDUCTION_OP(Mean, "mean", ReduceAttrs, 0)
MERCER_REDUCTION_OP(Max, "max", ReduceAttrs, input_bit(0) | output_bit)
MERCER_REDUCTION_OP(Min, "min", ReduceAttrs, input_bit(0) | output_bit)
MERCER_REDUCTION_OP(Prod, "prod", ReduceAttrs, input_bit(0))
MERCER_REDUCTION_OP(Variance, "var", VarianceAttrs, input_bit(0))
MERCER_REDUCTION_OP(Deviation, "stddev", VarianceAttrs, input_bit(0) | output_bit)
MERCER_REDUCTION_OP(NormP, "norm_p", NormAttrs, input_bit(0) | output_bit)
#undef MERCER_REDUCTION_OP

}  // namespace mercer
