// The functions of the normal distribution for formulas and maps, with their derivatives.
#pragma once

#include "engine/simd/dual.h"
#include "engine/simd/math/erfc.h"
#include "engine/simd/math/normal_quantile.h"

namespace mercer::MERCER_ISA {

/// e^(−x²); derivative −2x e^(−x²)
template <class V>
MERCER_INLINE Dual<V> exp_minus_square(Dual<V> x) {
    const V e = exp_minus_square(x.v);
    return {e, V(typename V::Scalar(-2)) * x.v * e * x.d};
}
/// erfc' = −2/√π e^(−x²)
template <class V>
MERCER_INLINE Dual<V> erfc(Dual<V> x) {
    using S = typename V::Scalar;
    return {erfc(x.v), V(S(-1.12837916709551257390)) * exp_minus_square(x.v) * x.d};
}
/// φ' = −x φ
template <class V>
MERCER_INLINE Dual<V> normal_pdf(Dual<V> x) {
    const V p = normal_pdf(x.v);
    return {p, -x.v * p * x.d};
}
/// Φ' = φ
template <class V>
MERCER_INLINE Dual<V> normal_cdf(Dual<V> x) {
    return {normal_cdf(x.v), normal_pdf(x.v) * x.d};
}
/// h = φ/Φ: h' = −h(x + h)
template <class V>
MERCER_INLINE Dual<V> normal_hazard(Dual<V> x) {
    const V h = normal_hazard(x.v);
    return {h, -h * normal_hazard_excess(x.v) * x.d};
}
/// (log Φ)' = φ/Φ
template <class V>
MERCER_INLINE Dual<V> log_normal_cdf(Dual<V> x) {
    return {log_normal_cdf(x.v), normal_hazard(x.v) * x.d};
}
/// y = erfinv x: y' = √π/2 e^(y²)
template <class V>
MERCER_INLINE Dual<V> erfinv(Dual<V> x) {
    using S = typename V::Scalar;
    const V y = erfinv(x.v);
    return {y, V(S(0.88622692545275801365)) * exp(y * y) * x.d};
}
/// y = Φ⁻¹(p): y' = √(2π) e^(y²/2)
template <class V>
MERCER_INLINE Dual<V> normal_icdf(Dual<V> p) {
    using S = typename V::Scalar;
    const V y = normal_icdf(p.v);
    return {y, V(S(2.50662827463100050242)) * exp(y * y * V(S(0.5))) * p.d};
}

}  // namespace mercer::MERCER_ISA
