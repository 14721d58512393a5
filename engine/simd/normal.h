// The functions of the normal distribution for formulas and maps, with their derivatives.
#pragma once

#include "engine/simd/follow.h"
#include "engine/simd/math/erfc.h"
#include "engine/simd/math/normal_quantile.h"

namespace mercer::MERCER_ISA {

/// −x·p; where p has faded to 0 it is 0, at ±∞ as well.
template <class V>
MERCER_INLINE V fading(V x, V p) {
    const V zero(typename V::Scalar(0));
    return select(p == zero, zero, -x * p);
}
/// e^(−x²); derivative −2x e^(−x²)
template <class V>
MERCER_INLINE Dual<V> exp_minus_square(Dual<V> x) {
    const V e = exp_minus_square(x.v);
    return chain(x, e, [&] { return V(typename V::Scalar(2)) * fading(x.v, e); });
}
/// erf' = 2/√π e^(−x²)
template <class V>
MERCER_INLINE V erf_slope(V x) {
    return V(typename V::Scalar(1.12837916709551257390)) * exp_minus_square(x);
}
template <class V>
MERCER_INLINE Dual<V> erf(Dual<V> x) {
    return chain(x, erf(x.v), [&] { return erf_slope(x.v); });
}
/// erfc' = −erf'
template <class V>
MERCER_INLINE Dual<V> erfc(Dual<V> x) {
    return chain(x, erfc(x.v), [&] { return -erf_slope(x.v); });
}
/// φ' = −x φ
template <class V>
MERCER_INLINE Dual<V> normal_pdf(Dual<V> x) {
    const V p = normal_pdf(x.v);
    return chain(x, p, [&] { return fading(x.v, p); });
}
/// Φ' = φ
template <class V>
MERCER_INLINE Dual<V> normal_cdf(Dual<V> x) {
    return chain(x, normal_cdf(x.v), [&] { return normal_pdf(x.v); });
}
/// h = φ/Φ: h' = −h(x + h)
template <class V>
MERCER_INLINE Dual<V> normal_hazard(Dual<V> x) {
    const V h = normal_hazard(x.v);
    return chain(x, h, [&] { return -h * normal_hazard_excess(x.v); });
}
/// (log Φ)' = φ/Φ
template <class V>
MERCER_INLINE Dual<V> log_normal_cdf(Dual<V> x) {
    return chain(x, log_normal_cdf(x.v), [&] { return normal_hazard(x.v); });
}
/// y = erfinv x: y' = √π/2 e^(y²)
template <class V>
MERCER_INLINE V erfinv_slope(V y) {
    return V(typename V::Scalar(0.88622692545275801365)) * exp(y * y);
}
template <class V>
MERCER_INLINE Dual<V> erfinv(Dual<V> x) {
    const V y = erfinv(x.v);
    return chain(x, y, [&] { return erfinv_slope(y); });
}
/// y = Φ⁻¹(p): y' = √(2π) e^(y²/2)
template <class V>
MERCER_INLINE V normal_icdf_slope(V y) {
    using S = typename V::Scalar;
    return V(S(2.50662827463100050242)) * exp(y * y * V(S(0.5)));
}
template <class V>
MERCER_INLINE Dual<V> normal_icdf(Dual<V> p) {
    const V y = normal_icdf(p.v);
    return chain(p, y, [&] { return normal_icdf_slope(y); });
}

}  // namespace mercer::MERCER_ISA
