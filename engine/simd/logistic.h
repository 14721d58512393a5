// The logistic function and its integral, for formulas and maps; their derivatives beside them.
#pragma once

#include "engine/simd/dual.h"
#include "engine/simd/math/softplus.h"

namespace mercer::MERCER_ISA {

/// 1/(1 + e⁻ˣ), for formulas and maps; e⁻ˣ = ∞ gives 0, as it should.
template <class V>
MERCER_INLINE V sigmoid(V x) {
    const V one(typename V::Scalar(1));
    return one / (one + exp(-x));
}
/// The dual of the quotient would be ∞/∞ far to the left.
MERCER_DERIVATIVE(sigmoid, (one - y) * y)
/// log(1 + eˣ) = max(x, 0) + log1p(e^−|x|); its derivative is the sigmoid.
template <class V>
MERCER_INLINE V softplus(V x) {
    const V zero(typename V::Scalar(0));
    return maximum(x, zero) + log1p_exp_neg(abs(x));
}
MERCER_DERIVATIVE(softplus, sigmoid(x))

/// A function at x and at −x, by one exponential: neither loses digits, however large x.
template <class V>
struct Opposite {
    V plus, minus;
};
/// 1/(1 + e⁻ˣ) and 1/(1 + eˣ)
template <class V>
MERCER_INLINE Opposite<V> sigmoid_of_both(V x) {
    const V zero(typename V::Scalar(0)), one(typename V::Scalar(1)),
        e = exp(-abs(x)), large = one / (one + e), small = e * large;
    const auto positive = x >= zero;
    return {select(positive, large, small), select(positive, small, large)};
}
template <class V>
MERCER_INLINE Opposite<Dual<V>> sigmoid_of_both(Dual<V> x) {
    const Opposite<V> s = sigmoid_of_both(x.v);
    const V slope = s.plus * s.minus;
    return {x.through(s.plus, slope), x.through(s.minus, -slope)};
}
/// log(1 + eˣ) and log(1 + e⁻ˣ)
template <class V>
MERCER_INLINE Opposite<V> softplus_of_both(V x) {
    const V zero(typename V::Scalar(0)), rest = log1p_exp_neg(abs(x));
    return {maximum(x, zero) + rest, maximum(-x, zero) + rest};
}
template <class V>
MERCER_INLINE Opposite<Dual<V>> softplus_of_both(Dual<V> x) {
    const Opposite<V> y = softplus_of_both(x.v), s = sigmoid_of_both(x.v);
    return {x.through(y.plus, s.plus), x.through(y.minus, -s.minus)};
}

}  // namespace mercer::MERCER_ISA
