// Functions made of other functions, on tensors.
#include <algorithm>
#include <cctype>
#include <cmath>
#include <limits>
#include <map>
#include <string>

#include "engine/error.h"
#include "engine/functions.h"
#include "engine/operation.h"
#include "engine/ops/losses.h"
#include "engine/ops/matmul.h"
#include "engine/ops/require.h"

namespace mercer {

namespace {
Tensor pointwise_of(const PointwiseOp& op, std::span<const Tensor* const> x) {
    return instruments::settled([&] { return pointwise(op, x); });
}
Tensor pointwise_sum_of(const PointwiseOp& op, std::span<const Tensor* const> x, int axes) {
    return instruments::settled([&] { return pointwise_sum(op, x, axes); });
}
}  // namespace

#define MERCER_VALUE Tensor
#include "engine/ops/composed.inc"

}  // namespace mercer
