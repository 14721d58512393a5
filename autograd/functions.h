// The operations of engine/functions.h on Vars: the same names, recorded when an operand stands on
// a tape.
#pragma once

#include "autograd/var.h"
#include "engine/functions.h"

namespace mercer {

#define MERCER_VALUE Var
#include "engine/functions.inc"
#include "engine/pointwise_functions.inc"
#undef MERCER_VALUE

}  // namespace mercer
