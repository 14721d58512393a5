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
/// A result with the reduced axes of size 1, without them unless they are kept.
Tensor finished(const Tensor& y, const ReduceAttrs& attrs);
/// `shape` with the reduced axes left as 1.
MERCER_API Shape kept_shape(const Shape& shape, unsigned axes);
/// The number of elements reduced into one.
MERCER_API int64_t reduced_count(const Shape& shape, unsigned axes);
/// n − correction, but no less than 0.
MERCER_API double degrees_of_freedom(const Shape& shape, const VarianceAttrs& attrs);

MERCER_OPERATION_OF(ReduceAttrs, Sum, "sum", Tensor, 0)
MERCER_OPERATION_OF(ReduceAttrs, Mean, "mean", Tensor, 0)
MERCER_OPERATION_OF(ReduceAttrs, Max, "max", Tensor, input_bit(0) | output_bit)
MERCER_OPERATION_OF(ReduceAttrs, Min, "min", Tensor, input_bit(0) | output_bit)
MERCER_OPERATION_OF(ReduceAttrs, Prod, "prod", Tensor, input_bit(0))
MERCER_OPERATION_OF(VarianceAttrs, Variance, "var", Tensor, input_bit(0))
MERCER_OPERATION_OF(VarianceAttrs, Deviation, "stddev", Tensor, input_bit(0) | output_bit)
MERCER_OPERATION_OF(NormAttrs, NormP, "norm_p", Tensor, input_bit(0) | output_bit)

}  // namespace mercer
