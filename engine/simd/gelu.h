// gelu x = x·Φ(x), and its derivative Φ(x) + x φ(x), for formulas and maps.
//
// With a = |x| and the tail h = Φ(−a): gelu x = max(x, 0) − a h; gelu'(−a) = h − a φ(a) and
// gelu'(a) = 1 − gelu'(−a). Nothing cancels left of 0 but at the zero of gelu'.
// float: h = 2^(−1 + a P(a)), gelu'(−a) = e^(−a²/2) N(a); one power of two each. P of degree 7, N of
// degree 11, minimax (Sollya, fpminimax) up to 5.7 and 5.9 under the weights a h/(1 − h) and
// e^(−a²/2), with errors of 2^-26.6 in the result and 2^-25.7. Beyond the fit both fall on to 0, where the
// result is below half an ULP of what is added to it or of 1.
// double: h and a φ by one E(z) and one exponential (erfc.h).
//
// Largest error measured: gelu: docs/accuracy.md (left of 0 in units of x's last place; floats have a relative
// error below 5e-6 down to -3, 2e-2 at -5; doubles 5 ULP of the result); gelu' 1.80 ULP (float), 1.89 (double) of the
// larger of it and ½.
#pragma once

#include "engine/simd/normal.h"

namespace mercer::MERCER_ISA {

/// min(|x|, high); of NaN anything.
MERCER_INLINE Vec<float> size_below(Vec<float> x, float high) {
#if MERCER_SIMD == MERCER_SIMD_AVX512
    return _mm512_range_ps(x.v, Vec<float>(high).v, 0b1010);  // the smaller size, without a sign
#else
    return clamp_high(abs(x), high);
#endif
}

/// 2^(t − ½) for −120 ≤ t ≤ −½: with n = ⌊t⌋ and u = t − n, both exact there, 2^n times a polynomial for
/// 2^(u − ½), which is 1 at u = ½. (The instruction that gives u would round it down for a t nearer to 0.)
MERCER_INLINE Vec<float> exp2_less_half(Vec<float> t) {
    const auto mantissa = [](Vec<float> u) {
        return horner(u, 0x1.6a09e6p-1f, 0x1.f5e478p-2f, 0x1.5be1fp-3f, 0x1.41804ap-5f,
                      0x1.bf080ap-8f, 0x1.d71816p-11f, 0x1.353ed8p-13f);
    };
#if MERCER_SIMD == MERCER_SIMD_AVX512
    constexpr int to_floor = 0b1001;
    return _mm512_scalef_ps(mantissa(_mm512_reduce_ps(t.v, to_floor)).v, t.v);
#else
    const Vec<float> n = floor_small(t);
    return mantissa(t - n) * power_of_two(n);
#endif
}

MERCER_INLINE Vec<float> gelu(Vec<float> x) {
    const Vec<float> a = size_below(x, 9.75f);
    const Vec<float> p =
        horner_split(a, -0x1.26aecep0f, -0x1.d63bd4p-2f, -0x1.adeb2cp-5f, 0x1.cd333ep-8f,
                     -0x1.e1f84ep-14f, -0x1.9b2422p-13f, 0x1.5ce6f2p-15f, -0x1.96ac3p-19f);
    return fma(-a, exp2_less_half(fma(a, p, Vec<float>(-0.5f))), clamp_low(x, 0.0f));
}
MERCER_INLINE Vec<float> gelu_slope(Vec<float> x) {
    const Vec<float> a = clamp_high(abs(x), 9.75f), one(1.0f);
    const Vec<float> n =
        horner(a, 0x1p0f, -0x1.98842ep0f, 0x1.fff45p-2f, -0x1.100744p-2f, 0x1.fba534p-4f,
               -0x1.a24516p-5f, 0x1.288ef8p-6f, -0x1.56a4e6p-8f, 0x1.2bb2dcp-10f, -0x1.6a6066p-13f,
               0x1.08e1dap-16f, -0x1.5c7c4cp-21f);
    const Vec<float> t = fma(a * Vec<float>(-0x1.715476p-1f), a, Vec<float>(-0.5f));
    const Vec<float> left = exp2_less_half(t) * n;
    // One instruction less than x < 0.
    const Mask<float> negative = (as_int(x) < Vec<int32_t>(0)).as<float>();
    return select(negative, left, one - left);
}

template <class T>
MERCER_OUTLINE Vec<T> gelu_of(Vec<T> x) {
    const Vec<T> a = clamp_high(abs(x), 40.0);  // Φ(−40) rounds to 0
    return fma(-a, normal_tail(a), clamp_low(x, 0.0));
}
template <class T>
MERCER_OUTLINE Vec<T> gelu_slope_of(Vec<T> x) {
    const Vec<T> a = clamp_high(abs(x), 40.0), one(1.0);
    const Vec<T> n = fma(-a, inverse_root_two_pi().high, half_erfcx<T>(a).high);
    const Vec<T> left = times_exp_square<T>({n, Vec<T>(0.0)}, a, 0.5);
    return select(x > Vec<T>(0.0), one - left, left);
}
MERCER_INLINE Vec<double> gelu(Vec<double> x) { return gelu_of(x); }
MERCER_INLINE Vec<double> gelu_slope(Vec<double> x) { return gelu_slope_of(x); }

MERCER_DERIVATIVE(gelu, gelu_slope(x))
/// φ(x)(2 − x²)
template <class V>
MERCER_INLINE V gelu_curvature(V x) {
    const V p = normal_pdf(x);
    return p + p - fading(x, fading(x, p));
}
MERCER_DERIVATIVE(gelu_slope, gelu_curvature(x))

}  // namespace mercer::MERCER_ISA
