// y = activation(x·w + bias) over the last axis of x, in one pass over y.
#pragma once

#include <span>

#include "engine/activation.h"
#include "engine/ops/op.h"
#include "engine/tensor.h"

namespace mercer {

/// x (…, k), w (k, n), bias (n) or undefined; y (…, n). A tape records the product and the bias only
/// (Activation::none) and the activation as an operation of its own, whose derivative wants the sums.
struct MERCER_API Linear {
    static constexpr const char* name = "linear";
    struct Attrs {
        Activation activation;
    };
    static Tensor forward(const Attrs&, std::span<const Tensor> x_w_bias);
    static constexpr unsigned needs(unsigned wanted) {
        return (wants_input(wanted, 0) ? input_bit(1) : 0) |
               (wants_input(wanted, 1) ? input_bit(0) : 0);
    }
    template <class X>
    static void vjp(Vjp<X>& c);
};

}  // namespace mercer
