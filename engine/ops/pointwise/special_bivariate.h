// The bivariate normal distribution function; method and rules: engine/simd/bivariate_normal.h.
#pragma once

#include "engine/ops/pointwise/formula.h"
#include "engine/simd/bivariate_normal.h"

namespace mercer::MERCER_ISA::formula {

/// NaN for |ρ| > 1; at ρ = ±1 the value is the limit, the derivatives are not finite.
MERCER_FORMULA(BivariateNormalCdf, bivariate_normal_cdf)

}  // namespace mercer::MERCER_ISA::formula
