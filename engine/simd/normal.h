// The functions of the normal distribution for formulas and maps, with their derivatives.
#pragma once

#include "engine/simd/follow.h"
#include "engine/simd/math/erfc.h"
#include "engine/simd/math/normal_quantile.h"

namespace mercer::MERCER_ISA {

/// e^(−x²): −2x e^(−x²)
MERCER_DERIVATIVE(exp_minus_square, V(typename V::Scalar(2)) * fading(x, y))
/// erf' = 2/√π e^(−x²)
template <class V>
MERCER_INLINE V erf_slope(V x) {
    return V(typename V::Scalar(1.12837916709551257390)) * exp_minus_square(x);
}
MERCER_DERIVATIVE(erf, erf_slope(x))
MERCER_DERIVATIVE(erfc, -erf_slope(x))
MERCER_DERIVATIVE(normal_pdf, fading(x, y))
MERCER_DERIVATIVE(normal_cdf, normal_pdf(x))
/// h = φ/Φ: h' = −h(x + h), −1 far left
MERCER_DERIVATIVE(normal_hazard, select(x < V(typename V::Scalar(-1e30)), -one,
                                        fading(normal_hazard_excess(x), y)))
MERCER_DERIVATIVE(log_normal_cdf, normal_hazard(x))
/// y = erfinv x: y' = √π/2 e^(y²)
template <class V>
MERCER_INLINE V erfinv_slope(V y) {
    return V(typename V::Scalar(0.88622692545275801365)) * exp(y * y);
}
MERCER_DERIVATIVE(erfinv, erfinv_slope(y))
/// y = Φ⁻¹(p): y' = √(2π) e^(y²/2)
template <class V>
MERCER_INLINE V normal_icdf_slope(V y) {
    using S = typename V::Scalar;
    return V(S(2.50662827463100050242)) * exp(y * y * V(S(0.5)));
}
MERCER_DERIVATIVE(normal_icdf, normal_icdf_slope(y))

}  // namespace mercer::MERCER_ISA
