// erf.
//
// |x| < 1: x + x P(x²), P minimax of degree 6 (float, 2^-29.3) or 11 (double, 2^-56). Above, 1 −
// e^-t with t = |x| + |x| Q(|x|), Q of degree 6 (float) or 17 (double), minimax for −log erfc under
// the weight |x| erfc |x|, which makes it uniform in the result: 2^-30.2 and 2^-56.7. From 3.93
// (float) or 5.93 (double) on erf rounds to 1. A vector that has no |x| ≥ 1 leaves the second out;
// otherwise both are computed and selected. The sign is put back last.
//
// Largest error measured (as in exp.h), ULP: 0.991 (float), 1.015 (double).
#pragma once

#include "engine/simd/math/exp.h"

namespace mercer::MERCER_ISA {

/// P with erf x = x + x P(x²) for |x| ≤ 1.
MERCER_INLINE Vec<float> erf_polynomial(Vec<float> z) {
    return horner(z, 0x1.06eba8p-3f, -0x1.81273ep-2f, 0x1.ce2cf2p-4f, -0x1.b7f88cp-6f,
                  0x1.540172p-8f, -0x1.a3d812p-11f, 0x1.4917a4p-14f);
}
MERCER_INLINE Vec<double> erf_polynomial(Vec<double> z) {
    return horner_split(z, 0x1.06eba8214db68p-3, -0x1.812746b0379b2p-2, 0x1.ce2f21a0408d1p-4,
                        -0x1.b82ce311ee09bp-6, 0x1.565bccf7e2856p-8, -0x1.c02db0149d904p-11,
                        0x1.f9a2b75531772p-14, -0x1.f4ca204c771c5p-17, 0x1.b97e44280cfb9p-20,
                        -0x1.5bfe76384472p-23, 0x1.d6e3ddfeb1f49p-27, -0x1.ab15c51d2ebebp-31);
}

/// Q with erf x = 1 − e^-(x + x Q(x)) for x ≥ 1.
MERCER_INLINE Vec<float> erfc_polynomial(Vec<float> x) {
    return horner(x, 0x1.078f7p-3f, 0x1.451c18p-1f, 0x1.b448fcp-4f, -0x1.892c2p-6f, 0x1.ebc45p-9f,
                  -0x1.6e4718p-12f, 0x1.d07af2p-17f);
}
MERCER_INLINE Vec<double> erfc_polynomial(Vec<double> x) {
    return horner_split(x, 0x1.06eba139b706ap-3, 0x1.45f31584dce86p-1, 0x1.a4f3370052a1fp-4,
                        -0x1.3959e918085eap-6, -0x1.bae29ddd1c995p-13, 0x1.bb69ea1cfc2c7p-10,
                        -0x1.2cb3e61912e8cp-11, -0x1.ec3a437fbf976p-20, 0x1.92ad8b6f8b6f6p-14,
                        -0x1.d829abff61177p-15, 0x1.57007222be087p-16, -0x1.6b3d83557cb44p-18,
                        0x1.23173338dcc41p-20, -0x1.606bbf288983fp-23, 0x1.39d839e497ba2p-26,
                        -0x1.84cba2da3948fp-30, 0x1.2b7ae4a3b945fp-34, -0x1.b00f50aaef0e2p-40);
}

template <class T>
MERCER_INLINE Vec<T> erf(Vec<T> x) {
    const Vec<T> one(T(1)), a = abs(x);
    const Mask<T> far = !(a < one);
    const Vec<T> small = fma(a, erf_polynomial(x * x), a);
    if (!any(far)) return as_float(as_int(small) | sign_bit(x));
    const Vec<T> b = clamp_high(a, T(sizeof(T) == 4 ? 3.96 : 5.95));
    const Vec<T> t = fma(b, erfc_polynomial(b), b);
    const auto e = exp_parts(-t);
    const Vec<T> large = fma(-e.scale, e.q, one - e.scale);
    return as_float(as_int(select(far, large, small)) | sign_bit(x));
}

}  // namespace mercer::MERCER_ISA
