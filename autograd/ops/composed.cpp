// Functions made of other functions, on Vars.
#include <algorithm>

#include "autograd/functions.h"
#include "engine/error.h"

namespace mercer {

#define MERCER_VALUE Var
#include "engine/ops/composed.inc"

}  // namespace mercer
