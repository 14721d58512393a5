// The gamma function's logarithm and its derivatives; method and rules stand in engine/simd/gamma.h.
#pragma once

#include "engine/simd/gamma.h"

namespace mercer::MERCER_ISA::formula {

/// ∞ at 0, −1, −2, …
struct Lgamma {
    static MERCER_INLINE auto f(auto x) { return lgamma(x); }
};
/// ∓∞ at ±0, NaN at −1, −2, …
struct Digamma {
    static MERCER_INLINE auto f(auto x) { return digamma(x); }
};
/// ∞ at 0, NaN at −1, −2, …
struct Trigamma {
    static MERCER_INLINE auto f(auto x) { return polygamma<1>(x); }
};

}  // namespace mercer::MERCER_ISA::formula
