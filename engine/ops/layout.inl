// Adjoints of layout operations. Included by autograd/ops/layout.cpp only.
#pragma once

#include "engine/ops/layout.h"

namespace mercer {

template <class X>
void Reshape::vjp(Vjp<X>& c) {
    c.give(0, reshape(c.g(), c.in_shape(0)));
}

template <class X>
void Permute::vjp(Vjp<X>& c) {
    const Attrs& attrs = c.template attrs<Attrs>();
    int inverse[Dims::max_rank];
    for (int k = 0; k < attrs.rank; ++k) inverse[attrs.axes[k]] = k;
    c.give(0, permute(c.g(), std::span<const int>(inverse, size_t(attrs.rank))));
}

template <class X>
void BroadcastTo::vjp(Vjp<X>& c) {
    c.give(0, sum_to(c.g(), c.in_shape(0)));
}

template <class X>
void SumTo::vjp(Vjp<X>& c) {
    c.give(0, broadcast_to(c.g(), c.in_shape(0)));
}

}  // namespace mercer
