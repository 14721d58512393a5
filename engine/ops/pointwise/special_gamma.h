// The gamma function's logarithm and its derivatives; method and rules stand in engine/simd/gamma.h.
#pragma once

#include "engine/simd/gamma.h"

namespace mercer::MERCER_ISA::formula {

/// ∞ at 0, −1, −2, …
struct Lgamma {
    template <class V>
    static MERCER_INLINE V f(V x) {
        return lgamma(x);
    }
};
/// ∓∞ at ±0, NaN at −1, −2, …
struct Digamma {
    template <class V>
    static MERCER_INLINE V f(V x) {
        return digamma(x);
    }
};
/// ∞ at 0, NaN at −1, −2, …
struct Trigamma {
    template <class V>
    static MERCER_INLINE V f(V x) {
        return polygamma<1>(x);
    }
};

}  // namespace mercer::MERCER_ISA::formula
