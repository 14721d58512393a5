// Operators and reductions on tensors.
#include "engine/functions.h"
#include "engine/ops/reduce.h"

namespace mercer {

#define MERCER_VALUE Tensor
#define MERCER_REDUCE(Op, attrs, x) compute<Op>(attrs, {&x, 1})
#include "engine/ops/operators.inc"

}  // namespace mercer
