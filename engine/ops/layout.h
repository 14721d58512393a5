// Operations that move no values or only repeat them: reshape, permute, broadcast_to and its
// adjoint sum_to.
#pragma once

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

}  // namespace mercer
