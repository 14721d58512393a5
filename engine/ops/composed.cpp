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
#include "engine/ops/channel.h"
#include "engine/ops/loss_rows.h"
#include "engine/ops/losses.h"
#include "engine/ops/matmul.h"
#include "engine/ops/norm.h"
#include "engine/ops/require.h"

namespace mercer {

Tensor channel_affine(const Tensor& x, const Tensor& mean, const Tensor& scale,
                      const Tensor& shift);  // channel.cpp

namespace {
const Tensor& value_of(const Tensor& x) { return x; }
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
