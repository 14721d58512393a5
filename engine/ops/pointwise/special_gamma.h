// The gamma function's logarithm and its derivatives; method and rules stand in engine/simd/gamma.h.
#pragma once

#include "engine/ops/pointwise/formula.h"
#include "engine/simd/gamma.h"

namespace mercer::MERCER_ISA::formula {

/// ∞ at 0, −1, −2, …
MERCER_FORMULA(Lgamma, lgamma)
/// ∓∞ at ±0, NaN at −1, −2, …
MERCER_FORMULA(Digamma, digamma)
/// ∞ at 0, NaN at −1, −2, …
MERCER_FORMULA(Trigamma, polygamma<1>)

}  // namespace mercer::MERCER_ISA::formula
