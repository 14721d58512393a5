// The chain rule where slopes are dear: taken only along what moves.
#pragma once

#include "engine/simd/dual.h"
#include "engine/simd/wide.h"

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
/// Dual numbers of floats in double lanes, and back: for slopes that a rounded value would spoil.
template <int half, class V>
MERCER_INLINE auto widen(Dual<V> a) {
    const auto v = widen<half>(a.v);
    using Wide = Dual<decltype(widen<half>(a.v))>;
    return a.live ? Wide(v, widen<half>(a.d)) : Wide(v);
}
template <class W, class... More>
MERCER_INLINE auto narrow(Dual<W> a, More... more) {
    const auto v = narrow(a.v, more.v...);
    using Narrow = Dual<decltype(narrow(a.v, more.v...))>;
    return a.live ? Narrow(v, narrow(a.d, more.d...)) : Narrow(v);
}
template <class V>
constexpr bool of_floats = __is_same(typename V::Scalar, float);
/// The derivative of x, be it 0.
template <class V>
MERCER_INLINE V derivative(Dual<V> x) {
    return x.live ? x.d : V(typename V::Scalar(0));
}

}  // namespace mercer::MERCER_ISA
