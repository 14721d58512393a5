// dx = y·(g − Σ g·y). Included by autograd/ops/rows.cpp only.
#pragma once

#include <type_traits>

#include "engine/ops/softmax.h"

namespace mercer {

template <class X>
X softmax_vjp(const X& y, const X& g, int axis) {
    return y * (g - sum(g * y, {axis}, true));
}

template <class X>
void Softmax::vjp(Vjp<X>& c) {
    const Attrs& attrs = c.template attrs<Attrs>();
    if constexpr (std::is_same_v<X, Tensor>)
        c.give(0, backward(attrs, c.out(), c.g()));
    else
        c.give(0, softmax_vjp(c.out(), c.g(), attrs.axis));
}

}  // namespace mercer
