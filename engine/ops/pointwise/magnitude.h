// Absolute value, square root, the larger and the smaller of two.
#pragma once

#include "engine/ops/pointwise/formula.h"
#include "engine/simd/dual.h"

namespace mercer::MERCER_ISA::formula {

/// Derivative sign(x), 0 at the kink.
MERCER_FORMULA(Abs, abs)
MERCER_FORMULA(Sqrt, sqrt)
/// Larger of two; NaN if either is NaN; at a tie the derivative goes to the first.
MERCER_FORMULA(Maximum, maximum)
/// Smaller of two; NaN if either is NaN; at a tie the derivative goes to the first.
MERCER_FORMULA(Minimum, minimum)

}  // namespace mercer::MERCER_ISA::formula
