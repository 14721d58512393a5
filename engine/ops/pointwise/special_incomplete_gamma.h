// The incomplete gamma function and its inverse; method and rules: engine/simd/incomplete_gamma.h.
#pragma once

#include "engine/ops/pointwise/formula.h"
#include "engine/simd/incomplete_gamma.h"

namespace mercer::MERCER_ISA::formula {

/// The distribution function of Gamma(a) at x ≥ 0; NaN for a < 0 or x < 0.
MERCER_FORMULA(Gammainc, gammainc)
/// Its complement, relative in the right tail.
MERCER_FORMULA(Gammaincc, gammaincc)
/// Its inverse in x: 0 and ∞ at p = 0 and 1.
MERCER_FORMULA(Gammaincinv, gammaincinv)

}  // namespace mercer::MERCER_ISA::formula
