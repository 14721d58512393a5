// dx = y·(g − Σ g·y).
#pragma once

#include <type_traits>

#include "engine/ops/softmax.h"

namespace mercer {

template <class X>
void Softmax::vjp(Vjp<X>& c) {
    const Attrs& attrs = c.template attrs<Attrs>();
    const X y = c.out(), g = c.g();
    if constexpr (std::is_same_v<X, Tensor>)
        c.give(0, backward(attrs, y, g));
    else
        c.give(0, y * (g - sum(g * y, {attrs.axis}, true)));
}

MERCER_VALUE softmax(const MERCER_VALUE& x, int axis) { return perform_along<Softmax>(axis, x); }

}  // namespace mercer
