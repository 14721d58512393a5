// tan and the inverse circular functions for formulas and maps, with their derivatives.
#pragma once

#include "engine/simd/dual.h"
#include "engine/simd/math/arc.h"

namespace mercer::MERCER_ISA {

MERCER_DERIVATIVE(tan, fma(y, y, one))
/// Each factor of 1 − x² by itself.
MERCER_DERIVATIVE(asin, one / sqrt((one - x) * (one + x)))
MERCER_DERIVATIVE(acos, -one / sqrt((one - x) * (one + x)))
template <class V>
MERCER_INLINE V atan_slope(V x) {
    const V one(typename V::Scalar(1));
    return one / fma(x, x, one);
}
MERCER_DERIVATIVE(atan_slope, V(typename V::Scalar(2)) * fading(x, y) * y)
MERCER_DERIVATIVE(atan, atan_slope(x))
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
