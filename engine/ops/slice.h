// Parts and wholes: slice, its adjoint unslice, concat.
#pragma once

#include "engine/ops/op.h"

namespace mercer {

MERCER_OPERATION_ON(Unwatched, Slice, "slice", Tensor, int axis; int64_t begin, step, n;)
MERCER_OPERATION(Unslice, "unslice", Tensor, 0, Shape shape; int axis; int64_t begin, step;)
MERCER_OPERATION(Concat, "concat", Tensor, 0, int axis;)

/// Python's rule for begin:end:step over `shape`. ValueError for step 0.
MERCER_API Slice::Attrs slice_range(const Shape& shape, int axis, int64_t begin, int64_t end,
                                    int64_t step);
/// Where x goes in `shape`: ShapeError unless all of it has a place of its own.
MERCER_API Unslice::Attrs unslice_range(const Shape& x, const Shape& shape, int axis, int64_t begin,
                                        int64_t step);

}  // namespace mercer
