// dA = G·Bᵀ, dB = Aᵀ·G, summed over broadcast leading axes; dbias = Σ G.
#pragma once

#include "engine/ops/matmul.h"

namespace mercer {

template <class X>
void Matmul::vjp(Vjp<X>& c, const Attrs& attrs) {
    const auto product = [&](const X& l, const X& r) { return matmul_in(attrs.order, l, r); };
    if (c.wants(0)) c.give(0, sum_to(product(c.g(), transpose(c.in(1))), c.in_shape(0)));
    if (!c.wants(1)) return;
    const X a = c.in(0);
    const Shape b = c.in_shape(1);
    if (b.rank() == 2 &&
        a.rank() > 2)  // one product with a long inner axis instead of a sum of many
        c.give(1, product(transpose(flat_rows(a)), flat_rows(c.g())));
    else
        c.give(1, sum_to(product(transpose(a), c.g()), b));
}

template <class X>
void Linear::vjp(Vjp<X>& c, const Attrs&) {
    if (c.wants(0)) c.give(0, matmul(c.g(), transpose(c.in(1))));
    if (c.wants(1)) c.give(1, matmul(transpose(flat_rows(c.in(0))), flat_rows(c.g())));
    if (c.wants(2)) c.give(2, sum_to(c.g(), c.in_shape(2)));
}

template <class X>
void Dot::vjp(Vjp<X>& c, const Attrs& attrs) {
    for (const int i : {0, 1})
        if (c.wants(i)) c.give(i, reshape(c.g(), kept_shape(c.in_shape(i), attrs.axes)) * c.in(1 - i));
}

MERCER_VALUE dot(const MERCER_VALUE& a, const MERCER_VALUE& b, unsigned axes) { return perform<Dot>({axes, false}, a, b); }
MERCER_VALUE matmul_in(cpu::Order order, const MERCER_VALUE& a, const MERCER_VALUE& b) {
    return promoted_matmul(a, b, [order](const auto& l, const auto& r) { return perform<Matmul>({order}, l, r); });
}
MERCER_VALUE matmul(const MERCER_VALUE& a, const MERCER_VALUE& b) { return matmul_in(cpu::Order::by_shape, a, b); }

}  // namespace mercer
