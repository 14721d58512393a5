// Functions made of other functions, on tensors.
#include <algorithm>

#include "engine/error.h"
#include "engine/functions.h"

namespace mercer {

#define MERCER_VALUE Tensor
#include "engine/ops/composed.inc"

}  // namespace mercer
