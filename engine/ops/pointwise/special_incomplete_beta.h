// The incomplete beta function and its inverse; method and rules: engine/simd/incomplete_beta.h.
#pragma once

#include "engine/ops/pointwise/formula.h"
#include "engine/simd/incomplete_beta.h"

namespace mercer::MERCER_ISA::formula {

/// The distribution function of Beta(a, b) at x in [0, 1]; NaN for a < 0, b < 0 or another x.
MERCER_FORMULA(Betainc, betainc)
/// Its inverse in x.
MERCER_FORMULA(Betaincinv, betaincinv)

}  // namespace mercer::MERCER_ISA::formula
