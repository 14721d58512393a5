// where and cast.
#pragma once

#include "engine/ops/op.h"

namespace mercer {

/// Inputs: mask (bool), a, b.
MERCER_OPERATION(Where, "where", Tensor, input_bit(0))
MERCER_OPERATION(Cast, "cast", Tensor, 0, DType from, to;)

}  // namespace mercer
