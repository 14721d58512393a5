// dx = y·(g − Σ g·y); of the logarithm g − exp(y)·Σ g, and 0 where y = −∞.
#pragma once

#include <limits>
#include <type_traits>

#include "engine/ops/softmax.h"

namespace mercer {

template <bool logarithm>
template <class X>
void SoftmaxOf<logarithm>::vjp(Vjp<X>& c, const Attrs& attrs) {
    const X y = c.out(), g = c.g();
    const auto total = [&](const X& x) { return sum(x, {attrs.axis}, true); };
    if constexpr (std::is_same_v<X, Tensor>) {
        c.give(0, backward(attrs, y, g));
    } else if constexpr (logarithm) {
        const Tensor none = equal(y.value(), -std::numeric_limits<double>::infinity());
        c.give(0, where(none, X(Tensor::zeros({}, c.dtype())), g - exp(y) * total(g)));
    } else {
        c.give(0, y * (g - total(g * y)));
    }
}

MERCER_VALUE softmax(const MERCER_VALUE& x, int axis) { return perform_along<Softmax>(axis, x); }
MERCER_VALUE log_softmax(const MERCER_VALUE& x, int axis) { return perform_along<LogSoftmax>(axis, x); }

}  // namespace mercer
