// gelu x = x·Φ(x), and its derivative Φ(x) + x φ(x), for formulas and maps.
//
// float: with a = |x| and the tail h = Φ(−a) = 2^(−1 + a P(a)), gelu x = max(x, 0) − a h and
// gelu'(−a) = h − a φ(a) = h (1 + a Q(a)), gelu'(a) = 1 − gelu'(−a). One power of two serves both,
// and nothing cancels left of 0. P of degree 7, Q of degree 8, minimax under the weights (a + a³/8) h
// and a² h, with error 2^-26.1 in Φ and 2^-23.6 in gelu'. Beyond the fit (5.7) both fall on to 0, where the
// result is below half an ULP of what is added to it or of 1.
// double: by Φ and φ.
//
// Largest error measured, every fourth float up to ±10: gelu 1.61 ULP of the result for x > 0 and 0.95 ULP of x
// left of 0 (the result itself has a relative error below 3e-6 down to -3, 1e-2 at -5); gelu' 1.62
// ULP of the larger of it and ½.
#pragma once

#include "engine/simd/normal.h"

namespace mercer::MERCER_ISA {

/// a = |x|, held where h is a normal number, and h = Φ(−a).
struct GeluTail {
    Vec<float> a, h;
    MERCER_INLINE explicit GeluTail(Vec<float> x) : a(clamp_high(abs(x), 9.75f)) {
        const Vec<float> p =
            horner(a, -0x1.26aedep0f, -0x1.d638c8p-2f, -0x1.ae45fep-5f, 0x1.d1ff68p-8f,
                   -0x1.760ea8p-13f, -0x1.5e2bfcp-13f, 0x1.250df2p-15f, -0x1.468dd2p-19f);
        // n = round(a·p); in the last bits of `biased` stands the exponent field of 2^(n - 1).
        const Vec<float> magic(Format<float>::round_magic + float(Format<float>::bias - 1));
        const Vec<float> biased = fma(a, p, magic), r = fma(a, p, magic - biased);
        const Vec<float> e = horner(r, 1.0f, 0x1.62e43p-1f, 0x1.ebfbd8p-3f, 0x1.c6af78p-5f,
                                    0x1.3b30bp-7f, 0x1.5f0a66p-10f, 0x1.3f9068p-13f);
        h = e * as_float(shift_left<Format<float>::mantissa>(as_int(biased)));
    }
};

MERCER_INLINE Vec<float> gelu(Vec<float> x) {
    const GeluTail t(x);
    return fma(-t.a, t.h, clamp_low(x, 0.0f));
}
MERCER_INLINE Vec<float> gelu_slope(Vec<float> x) {
    const GeluTail t(x);
    const Vec<float> q = horner(t.a, -0x1.98847ap-1f, -0x1.45f0a4p-1f, -0x1.bee322p-4f,
                                0x1.3d4ccap-6f, -0x1.ffa096p-14f, -0x1.18202ap-10f, 0x1.51835cp-12f,
                                -0x1.79682ep-15f, 0x1.5a36cp-19f);
    const Vec<float> one(1.0f), left = t.h * fma(t.a, q, one);
    return select(x > Vec<float>(0.0f), one - left, left);
}

/// Beyond -40 Φ is 0; held there, -∞·0 is not met.
MERCER_INLINE Vec<double> gelu(Vec<double> x) { return clamp_low(x, -40.0) * normal_cdf(x); }
MERCER_INLINE Vec<double> gelu_slope(Vec<double> x) {
    return fma(clamp(x, -40.0, 40.0), normal_pdf(x), normal_cdf(x));
}

template <class V>
MERCER_INLINE Dual<V> gelu(Dual<V> x) {
    return x.through(gelu(x.v), gelu_slope(x.v));
}
/// d gelu' = φ(x) (2 − x²)
template <class V>
MERCER_INLINE Dual<V> gelu_slope(Dual<V> x) {
    const V two(typename V::Scalar(2));
    return x.through(gelu_slope(x.v), normal_pdf(x.v) * (two - x.v * x.v));
}

}  // namespace mercer::MERCER_ISA
