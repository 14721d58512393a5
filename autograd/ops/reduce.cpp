// Operators, reductions and scans on Vars.
#include "autograd/functions.h"
#include "autograd/record.h"
#include "engine/ops/require.h"

#define MERCER_VALUE Var
#include "engine/ops/reduce.inl"
#include "engine/ops/scan.inl"

namespace mercer {

#include "engine/ops/operators.inc"

}  // namespace mercer
