// dx[j] = Σ g over the windows whose largest element stands at j. Included by autograd/ops/convolution.cpp only.
#pragma once

#include <type_traits>

#include "engine/ops/pooling.h"

namespace mercer {

template <class X>
X max_pool_vjp(const X& g, const Tensor& indices, const Shape& x) {
    const X rows = reshape(g, {x[0] * x[1], indices.size(1)});
    return reshape(scatter_add(rows, indices, 1, x[2] * x[3]), x);
}

template <class X>
void MaxPool2d::vjp(Vjp<X>& c) {
    const Attrs& attrs = c.template attrs<Attrs>();
    if constexpr (std::is_same_v<X, Tensor>)
        c.give(0, backward(attrs, c.in(0), c.g()));
    else
        c.give(0, max_pool_vjp(c.g(), indices(attrs, c.value(0)), c.in_shape(0)));
}

}  // namespace mercer
