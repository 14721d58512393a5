// The adjoint of pad cuts the borders off, or adds them where they come from.
#pragma once

#include "engine/ops/pad.h"

namespace mercer {

template <class X>
void Pad::vjp(Vjp<X>& c, const Attrs& attrs) {
    const Shape shape = c.in_shape(0);
    X g = c.g();
    for (int a = shape.rank(); a-- > 0;) {
        const int64_t n = shape[a], before = attrs.before[a], whole = g.size(a);
        if (whole == n) continue;
        if (attrs.mode == PadMode::constant) {
            g = slice(g, a, before, before + n);
        } else {
            // Where each place comes from: the places, padded alike.
            Shape from = Shape::filled(shape.rank(), 0), one = Shape::filled(shape.rank(), 1);
            from[a] = before, one[a] = n;
            const Tensor places = reshape(Tensor::arange(n, DType::i64), one);
            one[a] = whole;
            g = scatter_add(g, perform<Pad>({one, from, attrs.mode, 0}, places), a, n);
        }
    }
    c.give(0, g);
}

MERCER_VALUE pad(const MERCER_VALUE& x, std::span<const int64_t> before, std::span<const int64_t> after, PadMode mode,
                 double value) {
    return perform<Pad>(pad_range(x.shape(), before, after, mode, value), x);
}

}  // namespace mercer
