// erf, erfc, erfinv and the normal distribution; method and derivatives stand in engine/simd/normal.h.
#pragma once

#include "engine/ops/pointwise/formula.h"
#include "engine/simd/normal.h"

namespace mercer::MERCER_ISA::formula {

MERCER_FORMULA(Erf, erf)
MERCER_FORMULA(Erfc, erfc)
/// ±∞ at ±1, NaN beyond.
MERCER_FORMULA_BY_RESULT(Erfinv, erfinv, erfinv_slope(y))
MERCER_FORMULA(NormalPdf, normal_pdf)
/// Relative precision in the left tail, down to the smallest subnormal number.
MERCER_FORMULA(NormalCdf, normal_cdf)
/// −x²/2 − log|x| − … to the left, however far.
MERCER_FORMULA(LogNormalCdf, log_normal_cdf)
/// ∓∞ at 0 and 1, NaN outside; a p near 1 has lost its tail before the call: use −Φ⁻¹(1 − p).
MERCER_FORMULA_BY_RESULT(NormalIcdf, normal_icdf, normal_icdf_slope(y))

}  // namespace mercer::MERCER_ISA::formula
