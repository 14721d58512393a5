// tan and the inverse circular functions for formulas and maps, with their derivatives.
#pragma once

#include "engine/simd/dual.h"
#include "engine/simd/math/arc.h"

namespace mercer::MERCER_ISA {

/// tan' = 1 + tan²
template <class V>
MERCER_INLINE Dual<V> tan(Dual<V> x) {
    const V t = tan(x.v);
    return x.through(t, fma(t, t, V(typename V::Scalar(1))));
}
/// asin' = 1/√(1 − x²), each factor of 1 − x² by itself
template <class V>
MERCER_INLINE Dual<V> asin(Dual<V> x) {
    const V one(typename V::Scalar(1));
    return x.through(asin(x.v), one / sqrt((one - x.v) * (one + x.v)));
}
template <class V>
MERCER_INLINE Dual<V> acos(Dual<V> x) {
    const V one(typename V::Scalar(1));
    return x.through(acos(x.v), -one / sqrt((one - x.v) * (one + x.v)));
}
/// atan' = 1/(1 + x²)
template <class V>
MERCER_INLINE Dual<V> atan(Dual<V> x) {
    const V one(typename V::Scalar(1));
    return x.through(atan(x.v), one / fma(x.v, x.v, one));
}
/// (x dy − y dx)/(x² + y²), with both scaled by the larger; NaN at the origin, 0 at infinity.
template <class V>
MERCER_INLINE Dual<V> atan2(Dual<V> y, Dual<V> x) {
    const V zero(typename V::Scalar(0)), size = maximum(abs(x.v), abs(y.v));
    const V a = x.v / size, b = y.v / size, n = size * fma(a, a, b * b);
    const auto far = size == V(typename V::Scalar(__builtin_inf()));
    Dual<V> angle =
        y.through(zero, select(far, zero, a / n)) - x.through(zero, select(far, zero, b / n));
    angle.v = atan2(y.v, x.v);
    return angle;
}

}  // namespace mercer::MERCER_ISA
