// The incomplete beta function and its inverse; method and rules: engine/simd/incomplete_beta.h.
#pragma once

#include "engine/simd/incomplete_beta.h"

namespace mercer::MERCER_ISA::formula {

/// The distribution function of Beta(a, b) at x in [0, 1]; NaN for a < 0, b < 0 or another x.
struct Betainc {
    template <class V>
    static MERCER_INLINE V f(V a, V b, V x) {
        return betainc(a, b, x);
    }
};
/// Its inverse in x.
struct Betaincinv {
    template <class V>
    static MERCER_INLINE V f(V a, V b, V p) {
        return betaincinv(a, b, p);
    }
};

}  // namespace mercer::MERCER_ISA::formula
