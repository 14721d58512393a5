// Reductions over axes. Those without a derivative (any, all, count_nonzero, argmax, argmin) are plain functions.
#pragma once

#include <span>
#include <type_traits>
#include <vector>

#include "engine/cpu/reduce.h"
#include "engine/ops/op.h"

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
/// The axes of a mask.
inline std::vector<int> axes_of(unsigned mask) {
    std::vector<int> axes;
    for (int i = 0; i < Dims::max_rank; ++i)
        if (mask & (1u << i)) axes.push_back(i);
    return axes;
}
/// A result with the reduced axes of size 1, without them unless they are kept.
Tensor finished(const Tensor& y, const ReduceAttrs& attrs);
using cpu::kept_shape;
/// The number of elements reduced into one.
MERCER_API int64_t reduced_count(const Shape& shape, unsigned axes);
/// Over the axes, which are kept: the mean, whose sum does not overflow; max |x|, and 1 where it is 0 or not finite.
MERCER_API Tensor mean_of(const Tensor& x, unsigned axes);
MERCER_API Tensor largest_magnitude(const Tensor& x, unsigned axes);
/// x − mean x over the axes of a mask, to the last digits of x however far its mean is from zero.
template <class X>
X deviations(const X& x, unsigned axes) {
    if constexpr (std::is_same_v<X, Tensor>) {
        return x - mean_of(x, axes);
    } else {
        const X near = x - X(mean_of(x.value(), axes));
        return near - mean(near, std::span<const int>(axes_of(axes)), true);
    }
}
/// Where an extremum y is attained: x = y, and if some y is NaN, there x's NaNs. y broadcasts to x.
MERCER_API Tensor attained(const Tensor& x, const Tensor& y, bool some_nan);
MERCER_API bool holds_nan(const Tensor& y);
/// The number of set elements over the axes, which are kept.
MERCER_API Tensor how_many(const Tensor& mask, unsigned axes, DType dtype);
/// y = Π x over `axes`, dense, of size 1 along them: settles what is not finite.
void settle_products(const Tensor& x, unsigned axes, const Tensor& y);
/// dx_j = g · Π_{k≠j} x_k; g of size 1 along `axes`, of which there are some. First order only.
MERCER_API Tensor prod_gradient(const Tensor& x, unsigned axes, const Tensor& g);
/// n − correction, but no less than 0.
MERCER_API double degrees_of_freedom(const Shape& shape, const VarianceAttrs& attrs);

/// The axes of a mask at the end, as one: `rows` lines of n.
struct MERCER_API AxesLast {
    Dims moved;  // the shape (kept…, reduced…)
    int order[Dims::max_rank], back[Dims::max_rank], rank = 0;
    int64_t rows = 1, n = 1;

    AxesLast(const Shape& shape, unsigned axes);
    template <class X>
    X last(const X& x) const {
        return permute(x, std::span<const int>(order, size_t(rank)));
    }
    template <class X>
    X lines(const X& x) const {
        return reshape(last(x), {rows, n});
    }
    template <class X>
    X restored(const X& x) const {
        return permute(reshape(x, moved), std::span<const int>(back, size_t(rank)));
    }
};

MERCER_OPERATION_OF(ReduceAttrs, Sum, "sum", Tensor, 0)
MERCER_OPERATION_OF(ReduceAttrs, Mean, "mean", Tensor, 0)
MERCER_OPERATION_OF(ReduceAttrs, Max, "max", Tensor, input_bit(0) | output_bit)
MERCER_OPERATION_OF(ReduceAttrs, Min, "min", Tensor, input_bit(0) | output_bit)
MERCER_OPERATION_OF(ReduceAttrs, Prod, "prod", Tensor, input_bit(0))
MERCER_OPERATION_OF(VarianceAttrs, Variance, "var", Tensor, input_bit(0))
MERCER_OPERATION_OF(VarianceAttrs, Deviation, "stddev", Tensor, input_bit(0) | output_bit)
MERCER_OPERATION_OF(NormAttrs, NormP, "norm_p", Tensor, input_bit(0) | output_bit)

}  // namespace mercer
