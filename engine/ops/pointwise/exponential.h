// Exponentials and logarithms; the vector forms stand in engine/simd/math.
#pragma once

#include "engine/ops/pointwise/formula.h"
#include "engine/simd/dual.h"

namespace mercer::MERCER_ISA::formula {

/// exp' = exp: the saved output is the derivative.
MERCER_FORMULA_BY_RESULT(Exp, exp, y)
MERCER_FORMULA(Expm1, expm1)
MERCER_FORMULA(Log, log)
MERCER_FORMULA(Log1p, log1p)
MERCER_FORMULA_BY_RESULT(Exp2, exp2, V(typename V::Scalar(0.69314718055994530942)) * y)
MERCER_FORMULA(Log2, log2)
MERCER_FORMULA(Log10, log10)

}  // namespace mercer::MERCER_ISA::formula
