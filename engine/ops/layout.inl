// Adjoints of layout operations.
#pragma once

#include <limits>

#include "engine/ops/layout.h"

namespace mercer {

MERCER_VJP(Reshape, c.give(0, reshape(c.g(), c.in_shape(0))))
MERCER_VJP(BroadcastTo, c.give(0, sum_to(c.g(), c.in_shape(0))))
MERCER_VJP(SumTo, c.give(0, broadcast_to(c.g(), c.in_shape(0))))

template <class X>
void Permute::vjp(Vjp<X>& c, const Attrs& attrs) {
    int inverse[Dims::max_rank];
    for (int k = 0; k < attrs.rank; ++k) inverse[attrs.axes[k]] = k;
    c.give(0, permute(c.g(), std::span<const int>(inverse, size_t(attrs.rank))));
}

MERCER_VALUE reshape(const MERCER_VALUE& x, const Shape& shape) { return perform<Reshape>({shape}, x); }
MERCER_VALUE permute(const MERCER_VALUE& x, std::span<const int> axes) {
    return perform<Permute>(permutation(axes, x.rank()), x);
}
MERCER_VALUE transpose(const MERCER_VALUE& x) { return perform<Permute>(last_two_exchanged(x.rank()), x); }
MERCER_VALUE broadcast_to(const MERCER_VALUE& x, const Shape& shape) {
    return x.shape() == shape ? x : perform<BroadcastTo>({shape}, x);
}
MERCER_VALUE sum_to(const MERCER_VALUE& x, const Shape& shape) {
    return x.shape() == shape ? x : perform<SumTo>({shape}, x);
}

MERCER_VJP(Slice, c.give(0, unslice(c.g(), c.in_shape(0), a.axis, a.begin, a.step)))

template <class X>
void Unslice::vjp(Vjp<X>& c, const Attrs& a) {
    int64_t end = a.begin + c.in_shape(0)[a.axis] * a.step;
    if (end < 0) end = std::numeric_limits<int64_t>::min();  // past the front, not from the back
    c.give(0, slice(c.g(), a.axis, a.begin, end, a.step));
}

template <class X>
void Concat::vjp(Vjp<X>& c, const Attrs& a) {
    int64_t begin = 0;
    for (int i = 0; i < c.inputs(); ++i) {
        const int64_t n = c.in_shape(i)[a.axis];
        if (c.wants(i)) c.give(i, slice(c.g(), a.axis, begin, begin + n));
        begin += n;
    }
}

MERCER_VALUE slice(const MERCER_VALUE& x, int axis, int64_t begin, int64_t end, int64_t step) {
    return perform<Slice>(slice_range(x.shape(), axis, begin, end, step), x);
}
MERCER_VALUE unslice(const MERCER_VALUE& x, const Shape& shape, int axis, int64_t begin, int64_t step) {
    return perform<Unslice>(unslice_range(x.shape(), shape, axis, begin, step), x);
}

/// The adjoint of pad cuts the borders off, or adds them where they come from.
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
