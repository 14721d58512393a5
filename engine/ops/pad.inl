// The adjoint of pad cuts the borders off. Included by autograd/ops/layout.cpp only.
#pragma once

#include "engine/ops/pad.h"

namespace mercer {

template <class X>
void Pad::vjp(Vjp<X>& c) {
    const Shape shape = c.in_shape(0), before = c.template attrs<Attrs>().before;
    X g = c.g();
    for (int a = 0; a < shape.rank(); ++a)
        if (g.size(a) != shape[a]) g = slice(g, a, before[a], before[a] + shape[a]);
    c.give(0, g);
}

}  // namespace mercer
