// The chain rule where slopes are dear: taken only along what moves.
#pragma once

#include "engine/simd/dual.h"

namespace mercer::MERCER_ISA {

/// y' += slope()·x', unless x is a constant.
template <class V, class F>
MERCER_INLINE void follow(Dual<V>& y, Dual<V> x, F slope) {
    if (!x.live) return;
    const V d = slope() * x.d;
    y = Dual<V>(y.v, y.live ? y.d + d : d);
}
/// f(x) from its value and slope().
template <class V, class F>
MERCER_INLINE Dual<V> chain(Dual<V> x, V value, F slope) {
    Dual<V> y(value);
    follow(y, x, slope);
    return y;
}
/// The derivative of x, be it 0.
template <class V>
MERCER_INLINE V derivative(Dual<V> x) {
    return x.live ? x.d : V(typename V::Scalar(0));
}

}  // namespace mercer::MERCER_ISA
