// Functions made of other functions, on Vars.
#include <algorithm>
#include <cctype>
#include <cmath>
#include <limits>
#include <map>
#include <string>

#include "autograd/functions.h"
#include "autograd/ops/matmul.h"
#include "autograd/ops/pointwise.h"
#include "engine/error.h"
#include "engine/ops/losses.h"
#include "engine/ops/require.h"

namespace mercer {

namespace {
Var pointwise_of(const PointwiseOp& op, VarRefs x) {
    return record_pointwise(op, pointwise_rule(), x);
}
Var pointwise_sum_of(const PointwiseOp& op, VarRefs x, int axes) {
    return record_pointwise_sum(op, x, axes);
}
}  // namespace

#define MERCER_VALUE Var
#include "engine/ops/composed.inc"

}  // namespace mercer
