// sinh, cosh and the inverse hyperbolic functions for formulas and maps, with their derivatives.
#pragma once

#include "engine/simd/dual.h"
#include "engine/simd/math/hyperbolic.h"

namespace mercer::MERCER_ISA {

MERCER_DERIVATIVE(sinh, cosh(x))
MERCER_DERIVATIVE(cosh, sinh(x))
/// 1/√(x² + 1); beyond 10⁹ 1/|x|, for the square may overflow
MERCER_DERIVATIVE(asinh,
                  one / select(abs(x) > V(typename V::Scalar(1e9)), abs(x), sqrt(fma(x, x, one))))
/// 1/√((x − 1)|x + 1|), NaN left of 1; beyond 10⁹ 1/x
MERCER_DERIVATIVE(acosh,
                  one / select(x > V(typename V::Scalar(1e9)), x, sqrt((x - one) * abs(x + one))))
/// 1/(1 − x²)
MERCER_DERIVATIVE(atanh, one / ((one - x) * (one + x)))

}  // namespace mercer::MERCER_ISA
