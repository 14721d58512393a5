// gather, its adjoint scatter_add, scatter, and rows of a table by id. Inputs: x, index (i64).
#pragma once

#include "engine/ops/op.h"

namespace mercer {

MERCER_OPERATION(Gather, "gather", Tensor, input_bit(1), int axis;)
MERCER_OPERATION(ScatterAdd, "scatter_add", Tensor, input_bit(1), int axis; int64_t size;)

/// Inputs: x, index (i64), source.
MERCER_OPERATION(Scatter, "scatter", Tensor, input_bit(1), int axis;)

/// Inputs: table [size, width], ids (i64).
MERCER_OPERATION(Embedding, "embedding", Tensor, input_bit(1), int64_t size, padding;)

}  // namespace mercer
