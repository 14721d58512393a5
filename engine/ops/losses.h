// The formulas of losses of elements.
#pragma once

#include "engine/ops/pointwise.h"

namespace mercer::loss {

#define MERCER_LOSS(name, ...) MERCER_API const PointwiseOp& name();
#include "engine/ops/losses.def"
#undef MERCER_LOSS

}  // namespace mercer::loss
