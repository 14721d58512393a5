// dx = G·wᵀ, dw = xᵀ·G over all rows, dbias = Σ G.
#pragma once

#include "engine/ops/linear.h"
#include "engine/ops/matmul.h"

namespace mercer {

template <class X>
void Linear::vjp(Vjp<X>& c) {
    if (c.wants(0)) c.give(0, matmul(c.g(), transpose(c.in(1))));
    if (c.wants(1)) c.give(1, matmul(transpose(flat_rows(c.in(0))), flat_rows(c.g())));
    if (c.wants(2)) c.give(2, sum_to(c.g(), c.in_shape(2)));
}

}  // namespace mercer
