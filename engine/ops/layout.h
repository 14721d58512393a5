// Operations that move no values or only repeat them: reshape, permute, broadcast_to and its
// adjoint sum_to.
#pragma once

#include "engine/ops/op.h"

namespace mercer {

MERCER_OPERATION(Reshape, "reshape", Tensor, 0, Shape shape;)
MERCER_OPERATION(Permute, "permute", Tensor, 0, int axes[Dims::max_rank]; int rank;)
MERCER_OPERATION(BroadcastTo, "broadcast_to", Tensor, 0, Shape shape;)
MERCER_OPERATION(SumTo, "sum_to", Tensor, 0, Shape shape;)

/// The shape with its one -1 replaced so that `n` elements fit. ShapeError.
MERCER_API Shape resolve_shape(const Shape& shape, int64_t n, const Shape& from);
MERCER_API Permute::Attrs permutation(std::span<const int> axes, int rank);
MERCER_API Permute::Attrs last_two_exchanged(int rank);

}  // namespace mercer
