// Hyperbolic functions and their inverses; their rules stand in engine/simd/hyperbolic.h. tanh is an activation.
#pragma once

#include "engine/ops/pointwise/formula.h"
#include "engine/simd/hyperbolic.h"

namespace mercer::MERCER_ISA::formula {

MERCER_FORMULA(Sinh, sinh)
MERCER_FORMULA(Cosh, cosh)
MERCER_FORMULA(Asinh, asinh)
/// NaN below 1.
MERCER_FORMULA(Acosh, acosh)
/// ±∞ at ±1, NaN beyond.
MERCER_FORMULA(Atanh, atanh)

}  // namespace mercer::MERCER_ISA::formula
