// Operators and reductions on Vars.
#include "engine/ops/reduce.inl"
#include "autograd/functions.h"
#include "autograd/record.h"

namespace mercer {

#define MERCER_VALUE Var
#define MERCER_REDUCE(Op, attrs, x) record<Op>(attrs, {&x})
#include "engine/ops/operators.inc"

}  // namespace mercer
