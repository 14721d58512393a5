// Dropout by position: the mask is a function of key and element, so it is drawn again, not kept.
#pragma once

#include "engine/ops/op.h"
#include "engine/random.h"

namespace mercer {

MERCER_OPERATION(Dropout, "dropout", Tensor, 0, double p; Key key;)

}  // namespace mercer
