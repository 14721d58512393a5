// The incomplete gamma function and its inverse; method and rules: engine/simd/incomplete_gamma.h.
#pragma once

#include "engine/simd/incomplete_gamma.h"

namespace mercer::MERCER_ISA::formula {

/// The distribution function of Gamma(a) at x ≥ 0; NaN for a < 0 or x < 0.
struct Gammainc {
    static MERCER_INLINE auto f(auto a, auto x) { return gammainc(a, x); }
};
/// Its complement, relative in the right tail.
struct Gammaincc {
    static MERCER_INLINE auto f(auto a, auto x) { return gammaincc(a, x); }
};
/// Its inverse in x: 0 and ∞ at p = 0 and 1.
struct Gammaincinv {
    static MERCER_INLINE auto f(auto a, auto p) { return gammaincinv(a, p); }
};

}  // namespace mercer::MERCER_ISA::formula
