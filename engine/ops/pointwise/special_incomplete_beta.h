// The incomplete beta function and its inverse; method and rules: engine/simd/incomplete_beta.h.
#pragma once

#include "engine/simd/incomplete_beta.h"

namespace mercer::MERCER_ISA::formula {

/// The distribution function of Beta(a, b) at x in [0, 1]; NaN for a < 0, b < 0 or another x.
struct Betainc {
    static MERCER_INLINE auto f(auto a, auto b, auto x) { return betainc(a, b, x); }
};
/// Its inverse in x.
struct Betaincinv {
    static MERCER_INLINE auto f(auto a, auto b, auto p) { return betaincinv(a, b, p); }
};

}  // namespace mercer::MERCER_ISA::formula
