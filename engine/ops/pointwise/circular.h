// Circular functions and their inverses; the rules of the latter stand in engine/simd/circular.h.
#pragma once

#include "engine/ops/pointwise/formula.h"
#include "engine/simd/circular.h"

namespace mercer::MERCER_ISA::formula {

MERCER_FORMULA(Sin, sin)
MERCER_FORMULA(Cos, cos)
/// tan' = 1 + tan²: the saved output is enough.
MERCER_FORMULA_BY_RESULT(Tan, tan, fma(y, y, one))
/// NaN beyond ±1.
MERCER_FORMULA(Asin, asin)
/// NaN beyond ±1.
MERCER_FORMULA(Acos, acos)
MERCER_FORMULA(Atan, atan)
/// The angle of the point (x, y), in (−π, π].
MERCER_FORMULA(Atan2, atan2)

}  // namespace mercer::MERCER_ISA::formula
