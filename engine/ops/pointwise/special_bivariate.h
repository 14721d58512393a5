// The bivariate normal distribution function; method and rules: engine/simd/bivariate_normal.h.
#pragma once

#include "engine/simd/bivariate_normal.h"

namespace mercer::MERCER_ISA::formula {

/// NaN for |ρ| > 1; at ρ = ±1 the value is the limit, the derivatives are not finite.
struct BivariateNormalCdf {
    template <class V>
    static MERCER_INLINE V f(V h, V k, V rho) {
        return bivariate_normal_cdf(h, k, rho);
    }
};

}  // namespace mercer::MERCER_ISA::formula
