// y = activation(x·w + bias) over the last axis of x, in one pass over y.
#pragma once

#include "engine/activation.h"
#include "engine/ops/op.h"

namespace mercer {

/// x (…, k), w (k, n), bias (n) or undefined; y (…, n). A tape records the product and the bias only
/// (Activation::none) and the activation as an operation of its own, whose derivative wants the sums.
MERCER_OPERATION_ON(Bilinear<>, Linear, "linear", Tensor, Activation activation;)

}  // namespace mercer
