// Powers with any exponent.
#pragma once

#include "engine/ops/pointwise/formula.h"
#include "engine/simd/dual.h"

namespace mercer::MERCER_ISA::formula {

MERCER_FORMULA(Pow, pow)

}  // namespace mercer::MERCER_ISA::formula
