// Activations.
#pragma once

#include "engine/ops/pointwise/needs.h"
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
    return {s, s * (one - s) * x.d};
}
/// log(1 + eˣ) = max(x, 0) + log1p(e^−|x|); its derivative is the sigmoid.
template <class V>
MERCER_INLINE V softplus(V x) {
    const V zero(typename V::Scalar(0));
    return maximum(x, zero) + log1p(exp(-abs(x)));
}
template <class V>
MERCER_INLINE Dual<V> softplus(Dual<V> x) {
    return {softplus(x.v), sigmoid(x.v) * x.d};
}

namespace formula {

struct Tanh {
    template <class V>
    static MERCER_INLINE V f(V x) {
        return tanh(x);
    }
    static constexpr unsigned needs = needs_output;
    template <class V>
    static MERCER_INLINE V df(V, V y) {
        return V(typename V::Scalar(1)) - y * y;
    }
};
struct Sigmoid {
    template <class V>
    static MERCER_INLINE V f(V x) {
        return sigmoid(x);
    }
    static constexpr unsigned needs = needs_output;
    template <class V>
    static MERCER_INLINE V df(V, V y) {
        return y * (V(typename V::Scalar(1)) - y);
    }
};
struct Softplus {
    template <class V>
    static MERCER_INLINE V f(V x) {
        return softplus(x);
    }
};
/// Derivative 0 at the kink.
struct Relu {
    template <class V>
    static MERCER_INLINE V f(V x) {
        const V zero(typename V::Scalar(0));
        return select(x > zero || is_nan(x), x, zero);
    }
};
/// x·Φ(x), exact: Φ(x) = (1 + erf(x/√2))/2.
struct Gelu {
    template <class V>
    static MERCER_INLINE V f(V x) {
        using S = typename V::Scalar;
        return V(S(0.5)) * x * (V(S(1)) + erf(x * V(S(0.70710678118654752))));
    }
};

}  // namespace formula
}  // namespace mercer::MERCER_ISA
