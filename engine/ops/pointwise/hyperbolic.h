// Hyperbolic functions and their inverses; their rules stand in engine/simd/hyperbolic.h. tanh is an activation.
#pragma once

#include "engine/simd/hyperbolic.h"

namespace mercer::MERCER_ISA::formula {

struct Sinh {
    template <class V>
    static MERCER_INLINE V f(V x) {
        return sinh(x);
    }
};
struct Cosh {
    template <class V>
    static MERCER_INLINE V f(V x) {
        return cosh(x);
    }
};
struct Asinh {
    template <class V>
    static MERCER_INLINE V f(V x) {
        return asinh(x);
    }
};
/// NaN below 1.
struct Acosh {
    template <class V>
    static MERCER_INLINE V f(V x) {
        return acosh(x);
    }
};
/// ±∞ at ±1, NaN beyond.
struct Atanh {
    template <class V>
    static MERCER_INLINE V f(V x) {
        return atanh(x);
    }
};

}  // namespace mercer::MERCER_ISA::formula
