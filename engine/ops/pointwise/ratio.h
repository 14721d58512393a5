// Reciprocals.
#pragma once

#include "engine/simd/dual.h"

namespace mercer::MERCER_ISA::formula {

struct Reciprocal {
    template <class V>
    static MERCER_INLINE V f(V x) {
        return V(typename V::Scalar(1)) / x;
    }
};
struct Rsqrt {
    template <class V>
    static MERCER_INLINE V f(V x) {
        return V(typename V::Scalar(1)) / sqrt(x);
    }
};
/// ±1 at ±∞, where the quotient would be ∞/∞; its derivative (1 + |x|)⁻² is no difference.
struct Softsign {
    template <class V>
    static MERCER_INLINE V f(V x) {
        using S = typename V::Scalar;
        const V one(S(1)), far = V(S(__builtin_inf()));
        return select(x == far, one, select(x == -far, -one, x / (one + abs(x))));
    }
    template <class V>
    static MERCER_INLINE Dual<V> f(Dual<V> x) {
        const V one(typename V::Scalar(1)), r = one / (one + abs(x.v));
        return x.through(f(x.v), r * r);
    }
};

}  // namespace mercer::MERCER_ISA::formula
