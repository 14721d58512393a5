// The adjoint of pad cuts the borders off, or adds them where they come from. Included by autograd/ops/layout.cpp only.
#pragma once

#include "engine/ops/pad.h"

namespace mercer {

template <class X>
void Pad::vjp(Vjp<X>& c) {
    const Attrs& attrs = c.template attrs<Attrs>();
    const Shape shape = c.in_shape(0);
    X g = c.g();
    for (int a = shape.rank(); a-- > 0;) {
        const int64_t n = shape[a], before = attrs.before[a], whole = g.size(a);
        if (whole == n) continue;
        if (attrs.mode == PadMode::constant) {
            g = slice(g, a, before, before + n);
        } else {
            Shape along = Shape::filled(shape.rank(), 1);
            along[a] = whole;
            const Tensor index = border_index(n, before, whole - before - n, attrs.mode);
            g = scatter_add(g, reshape(index, along), a, n);
        }
    }
    c.give(0, g);
}

}  // namespace mercer
