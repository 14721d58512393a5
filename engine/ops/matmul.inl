// dA = G·Bᵀ, dB = Aᵀ·G, summed over broadcast leading axes. Included by autograd/ops/matmul.cpp
// only.
#pragma once

#include "engine/ops/matmul.h"

namespace mercer {

template <class X>
void Matmul::vjp(Vjp<X>& c) {
    if (c.wants(0)) c.give(0, sum_to(matmul(c.g(), transpose(c.in(1))), c.in_shape(0)));
    if (!c.wants(1)) return;
    const X a = c.in(0);
    const Shape b = c.in_shape(1);
    if (b.rank() == 2 &&
        a.rank() > 2) {  // one product with a long inner axis instead of a sum of many
        int64_t rows = 1;
        for (int axis = 0; axis < a.rank() - 1; ++axis) rows *= a.shape()[axis];
        c.give(1, matmul(transpose(reshape(a, {rows, b[0]})), reshape(c.g(), {rows, b[1]})));
    } else {
        c.give(1, sum_to(matmul(transpose(a), c.g()), b));
    }
}

}  // namespace mercer
