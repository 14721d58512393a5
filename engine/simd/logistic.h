// The logistic function and its integral, for formulas and maps; their derivatives beside them.
#pragma once

#include "engine/simd/dual.h"

namespace mercer::MERCER_ISA {

/// 1/(1 + e⁻ˣ), for formulas and maps; e⁻ˣ = ∞ gives 0, as it should.
template <class V>
MERCER_INLINE V sigmoid(V x) {
    const V one(typename V::Scalar(1));
    return one / (one + exp(-x));
}
/// d sigmoid = s(1 − s): the dual of the quotient would be ∞/∞ far to the left.
template <class V>
MERCER_INLINE Dual<V> sigmoid(Dual<V> x) {
    const V s = sigmoid(x.v), one(typename V::Scalar(1));
    return x.through(s, s * (one - s));
}
/// log(1 + eˣ) = max(x, 0) + log1p(e^−|x|); its derivative is the sigmoid.
template <class V>
MERCER_INLINE V softplus(V x) {
    const V zero(typename V::Scalar(0));
    return maximum(x, zero) + log1p(exp(-abs(x)));
}
template <class V>
MERCER_INLINE Dual<V> softplus(Dual<V> x) {
    return x.through(softplus(x.v), sigmoid(x.v));
}

}  // namespace mercer::MERCER_ISA
