// Rows of a table by id.
#pragma once

#include "engine/ops/op.h"

namespace mercer {

/// Inputs: table [size, width], ids (i64).
MERCER_OPERATION(Embedding, "embedding", Tensor, input_bit(1), int64_t size, padding;)

}  // namespace mercer
