// sinh, cosh and the inverse hyperbolic functions for formulas and maps, with their derivatives.
#pragma once

#include "engine/simd/dual.h"
#include "engine/simd/math/hyperbolic.h"

namespace mercer::MERCER_ISA {

template <class V>
MERCER_INLINE Dual<V> sinh(Dual<V> x) {
    return x.through(sinh(x.v), cosh(x.v));
}
template <class V>
MERCER_INLINE Dual<V> cosh(Dual<V> x) {
    return x.through(cosh(x.v), sinh(x.v));
}
/// 1/√(x² + 1); beyond 10⁹ 1/|x|, for the square may overflow
template <class V>
MERCER_INLINE Dual<V> asinh(Dual<V> x) {
    using S = typename V::Scalar;
    const V one(S(1)), a = abs(x.v);
    return x.through(asinh(x.v), one / select(a > V(S(1e9)), a, sqrt(fma(x.v, x.v, one))));
}
/// 1/√((x − 1)(x + 1)); beyond 10⁹ 1/x
template <class V>
MERCER_INLINE Dual<V> acosh(Dual<V> x) {
    using S = typename V::Scalar;
    const V one(S(1)), root = sqrt((x.v - one) * (x.v + one));
    return x.through(acosh(x.v), one / select(x.v > V(S(1e9)), x.v, root));
}
/// 1/(1 − x²)
template <class V>
MERCER_INLINE Dual<V> atanh(Dual<V> x) {
    const V one(typename V::Scalar(1));
    return x.through(atanh(x.v), one / ((one - x.v) * (one + x.v)));
}

}  // namespace mercer::MERCER_ISA
