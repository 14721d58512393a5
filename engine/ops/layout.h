// Operations that move values, or only repeat them: reshape, permute, broadcast_to and its adjoint sum_to; parts and wholes:
// slice, its adjoint unslice, concat; borders around a tensor: pad.
#pragma once

#include <span>

#include "engine/attribute.h"
#include "engine/ops/op.h"

namespace mercer {

MERCER_OPERATION_ON(Unwatched, Reshape, "reshape", Tensor, Shape shape;)
MERCER_OPERATION_ON(Unwatched, Permute, "permute", Tensor, int axes[Dims::max_rank]; int rank;)
MERCER_OPERATION_ON(Unwatched, BroadcastTo, "broadcast_to", Tensor, Shape shape;)
MERCER_OPERATION_ON(Unwatched, SumTo, "sum_to", Tensor, Shape shape;)

/// The shape with its one -1 replaced so that `n` elements fit. ShapeError.
MERCER_API Shape resolve_shape(const Shape& shape, int64_t n, const Shape& from);
MERCER_API Permute::Attrs permutation(std::span<const int> axes, int rank);
MERCER_API Permute::Attrs last_two_exchanged(int rank);

MERCER_OPERATION_ON(Unwatched, Slice, "slice", Tensor, int axis; int64_t begin, step, n;)
MERCER_OPERATION(Unslice, "unslice", Tensor, 0, Shape shape; int axis; int64_t begin, step;)
MERCER_OPERATION(Concat, "concat", Tensor, 0, int axis;)

/// Python's rule for begin:end:step over `shape`. ValueError for step 0.
MERCER_API Slice::Attrs slice_range(const Shape& shape, int axis, int64_t begin, int64_t end,
                                    int64_t step);
/// Where x goes in `shape`: ShapeError unless all of it has a place of its own.
MERCER_API Unslice::Attrs unslice_range(const Shape& x, const Shape& shape, int axis, int64_t begin,
                                        int64_t step);

/// out = x at `before`, in `shape`, and borders.
MERCER_OPERATION(Pad, "pad", Tensor, 0, Shape shape, before; PadMode mode; double value;)
/// The same into `out`; `border` is the constant. Memory traffic: out once, and lines at its borders again.
void copy_with_borders(const Tensor& out, const Tensor& x, const Shape& before, PadMode mode,
                       const Tensor& border);

/// Checks `before` and `after` (a size for each axis) against x.
MERCER_API Pad::Attrs pad_range(const Shape& x, std::span<const int64_t> before,
                                std::span<const int64_t> after, PadMode mode, double value);

}  // namespace mercer
