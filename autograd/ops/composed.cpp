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
#include "engine/ops/channel.h"
#include "engine/ops/loss_rows.h"
#include "engine/ops/losses.h"
#include "engine/ops/require.h"

namespace mercer {

Var padded(const Var& x, const Pad::Attrs& attrs);  // autograd/ops/layout.cpp

Var channel_affine(const Var& x, const Var& mean, const Var& scale,
                   const Var& shift);  // autograd/ops/norm.cpp
Var group_rows(const Var& x, const Var& gain, const Var& bias, double epsilon);

namespace {
const Tensor& value_of(const Var& x) { return x.value(); }
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
