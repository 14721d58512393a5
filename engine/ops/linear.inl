// dx = G·wᵀ, dw = xᵀ·G over all rows, dbias = Σ G. Included by autograd/ops/rows.cpp only.
#pragma once

#include "engine/ops/linear.h"

namespace mercer {

/// All leading axes as one.
template <class X>
X as_rows(const X& x) {
    int64_t rows = 1;
    for (int axis = 0; axis + 1 < x.rank(); ++axis) rows *= x.shape()[axis];
    return reshape(x, {rows, x.shape().back()});
}

template <class X>
void Linear::vjp(Vjp<X>& c) {
    if (c.wants(0)) c.give(0, matmul(c.g(), transpose(c.in(1))));
    if (c.wants(1)) c.give(1, matmul(transpose(as_rows(c.in(0))), as_rows(c.g())));
    if (c.wants(2)) c.give(2, sum_to(c.g(), c.in_shape(2)));
}

}  // namespace mercer
