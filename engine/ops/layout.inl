// Adjoints of layout operations.
#pragma once

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

}  // namespace mercer
