// Activations that bend a line: their derivatives at a kink are those from the left.
#pragma once

#include "engine/simd/logistic.h"

namespace mercer::MERCER_ISA::formula {

/// Its limits at ±∞: 0 and x.
struct Silu {
    template <class V>
    static MERCER_INLINE V f(V x) {
        using S = typename V::Scalar;
        const V zero(S(0)), end = V(S(__builtin_inf()));
        return select(x == end || x == -end, select(x > zero, x, zero), x * sigmoid(x));
    }
};
struct LogSigmoid {
    static MERCER_INLINE auto f(auto x) { return -softplus(-x); }
};
struct LeakyRelu {
    template <class V>
    static MERCER_INLINE V f(V x, V slope) {
        return select(x > V(typename V::Scalar(0)), x, slope * x);
    }
};
struct Elu {
    template <class V>
    static MERCER_INLINE V f(V x, V alpha) {
        return select(x > V(typename V::Scalar(0)), x, alpha * expm1(x));
    }
};
/// λ·elu(x, α) that keeps mean 0 and variance 1 (Klambauer et al. 2017).
struct Selu {
    template <class V>
    static MERCER_INLINE V f(V x) {
        using S = typename V::Scalar;
        const V scale(S(1.0507009873554805));
        return scale * Elu::f(x, V(S(1.6732632423543772)));
    }
};

}  // namespace mercer::MERCER_ISA::formula
