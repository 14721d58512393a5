// Hyperbolic functions and their inverses; their rules stand in engine/simd/hyperbolic.h. tanh is an activation.
#pragma once

#include "engine/simd/hyperbolic.h"

namespace mercer::MERCER_ISA::formula {

struct Sinh {
    static MERCER_INLINE auto f(auto x) { return sinh(x); }
};
struct Cosh {
    static MERCER_INLINE auto f(auto x) { return cosh(x); }
};
struct Asinh {
    static MERCER_INLINE auto f(auto x) { return asinh(x); }
};
/// NaN below 1.
struct Acosh {
    static MERCER_INLINE auto f(auto x) { return acosh(x); }
};
/// ±∞ at ±1, NaN beyond.
struct Atanh {
    static MERCER_INLINE auto f(auto x) { return atanh(x); }
};

}  // namespace mercer::MERCER_ISA::formula
