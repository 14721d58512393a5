// erfc, the normal distribution function Φ, its density, its logarithm, and φ/Φ.
//
// All rest on E(z) = e^(z²) erfc z for z ≥ 0: (1 + 2z) E(z) = 1 + s q(s − 1), s = 2z/(z + 3), q
// of degree 26 (double, 2^-53.9) or 12 (float, 2^-31), interpolating at Chebyshev points. Then
//   erfc |x| = e^(−x²) E(|x|),   Φ(−|x|) = ½ e^(−x²/2) E(|x|/√2),
// with the square in two parts, so that the tails keep their digits down to the last subnormal;
// the other side is 2 − erfc |x| and 1 − Φ(−|x|).
//   log Φ(x) = −x²/2 + log(E/2) for x ≤ 0 (no cancellation: both are negative), and
//   log1p(−Φ(−x)) to the right.
// Floats are computed in double lanes.
//
// Largest errors measured: docs/accuracy.md.
#pragma once

#include "engine/simd/math/exp.h"
#include "engine/simd/math/log.h"
#include "engine/simd/wide.h"

namespace mercer::MERCER_ISA {

/// P with e^r = 1 + r + r² P(r), in double, good enough for results rounded to T (float: 2^-31).
template <class T>
MERCER_INLINE Vec<double> exp_polynomial_for(Vec<double> r) {
    if constexpr (sizeof(T) == 8)
        return exp_polynomial(r);
    else
        return horner(r, 0x1.0000000bbf332p-1, 0x1.5555555a8d60ap-3, 0x1.5554e7e77b94p-5,
                      0x1.1110e072da4bdp-7, 0x1.6d44b137a66cp-10, 0x1.a126522421ce2p-13);
}

/// f·e^(h + l) for |l| far below |h|, h ≤ 700.
template <class T>
MERCER_INLINE Vec<double> times_exp(Vec<double> f, Vec<double> h, Vec<double> l) {
    const auto e = exp_reduce(h);
    const Vec<double> r = e.r + (e.low + l);
    const Vec<double> q = fma(r * r, exp_polynomial_for<T>(r), r);
    return scale(fma(f, q, f), e.n);
}

/// E(z) for z ≥ 0.
template <class T>
MERCER_INLINE Vec<double> erfcx(Vec<double> z) {
    const Vec<double> one(1.0), d = z + z, a = z + Vec<double>(3.0), b = d + one;
    if constexpr (sizeof(T) == 8) {
        const Vec<double> s = d / a;
        return fma(s,
                   horner(s - one, 0x1.03148b5f9261dp-2, -0x1.8df4cdbd61a96p-2,
                          0x1.5d40a2324c5d4p-2, -0x1.b0fdddbee450cp-3, 0x1.79703b43800cbp-4,
                          -0x1.86984b2e39176p-6, 0x1.23872223b882dp-14, 0x1.426c153160604p-9,
                          -0x1.2b7899b3a15fep-11, -0x1.b58adc8c93c56p-13, 0x1.b20321667d09cp-14,
                          0x1.6ac50b6d1d9dfp-16, -0x1.17b8db1ecf021p-16, -0x1.cc0fc226f7f59p-19,
                          0x1.69a5a96926f1ap-19, 0x1.a16db79519684p-21, -0x1.bfac2d259ccp-22,
                          -0x1.aac6717dc8f31p-23, 0x1.bb704fa4f91e4p-25, 0x1.a256e3b790d83p-25,
                          -0x1.9a680d61d76b2p-30, -0x1.605236a7a266cp-27, -0x1.c128852af5574p-30,
                          0x1.b8ae051030352p-30, 0x1.19e73b7b79d54p-31, -0x1.2941f2ff302d1p-33,
                          -0x1.0d397b7aa699cp-34),
                   one) /
               b;
    } else {
        const Vec<double> r = one / (a * b), s = d * (b * r);
        return fma(s,
                   horner(s - one, 0x1.03148b5f9261dp-2, -0x1.8df4cd5ab4c75p-2,
                          0x1.5d40a1d8a7ae8p-2, -0x1.b0fdf37c42651p-3, 0x1.797062b653f16p-4,
                          -0x1.8692c2ce27a31p-6, 0x1.1e8645ecc97bfp-14, 0x1.41cf23ddbd612p-9,
                          -0x1.29448a00a78bfp-11, -0x1.a420cb8e08a7cp-13, 0x1.931ef4164d11dp-14,
                          0x1.d6973ad3368b6p-17, -0x1.540156a55c7a2p-17),
                   one) *
               (a * r);
    }
}

/// e^(−c x²), c = 1 or ½, times f.
template <class T>
MERCER_INLINE Vec<double> times_exp_square(Vec<double> f, Vec<double> x, double c) {
    const Vec<double> h = x * x, l = fma(x, x, -h);
    return times_exp<T>(f, h * Vec<double>(-c), l * Vec<double>(-c));
}

template <class T>
MERCER_OUTLINE Vec<double> erfc_for(Vec<double> x) {
    const Vec<double> a = clamp_high(abs(x), 28.0);  // erfc 28 rounds to 0
    const Vec<double> y = times_exp_square<T>(erfcx<T>(a), a, 1.0);
    return select(x < Vec<double>(0.0), Vec<double>(2.0) - y, y);
}
constexpr double sqrt_half = 0.70710678118654752440;
template <class T>
MERCER_INLINE Vec<double> normal_tail(Vec<double> x) {  // Φ(−|x|)
    const Vec<double> a = clamp_high(abs(x), 40.0), e = erfcx<T>(a * Vec<double>(sqrt_half));
    return times_exp_square<T>(e * Vec<double>(0.5), a, 0.5);
}
template <class T>
MERCER_OUTLINE Vec<double> normal_cdf_for(Vec<double> x) {
    const Vec<double> y = normal_tail<T>(x);
    return select(x > Vec<double>(0.0), Vec<double>(1.0) - y, y);
}
template <class T>
MERCER_OUTLINE Vec<double> normal_pdf_for(Vec<double> x) {
    return times_exp_square<T>(Vec<double>(0.39894228040143267794), clamp_high(abs(x), 40.0), 0.5);
}
template <class T>
MERCER_OUTLINE Vec<double> exp_minus_square_for(Vec<double> x) {
    return times_exp_square<T>(Vec<double>(1.0), clamp_high(abs(x), 28.0), 1.0);
}
template <class T>
MERCER_OUTLINE Vec<double> log_normal_cdf_for(Vec<double> x) {
    const Vec<double> zero(0.0), half(0.5);
    const Mask<double> right = x > zero;
    Vec<double> y = zero;
    if (any(!right)) {
        const Vec<double> a = select(right, zero, x);
        const Vec<double> z = clamp_high(abs(a) * Vec<double>(sqrt_half), 1e100);
        y = fma(a * -half, a, log(erfcx<T>(z) * half));
    }
    if (any(right)) y = select(right, log1p(-normal_tail<T>(x)), y);
    return y;
}

/// h = φ(x)/Φ(x) = (log Φ)', and x + h, which is −h'/h; far left h = |x| + 1/|x| − …
template <class T>
MERCER_OUTLINE Vec<double> normal_hazard_for(Vec<double> x) {
    const Vec<double> zero(0.0), z = clamp_high(abs(x) * Vec<double>(sqrt_half), 1e100);
    const Vec<double> e = erfcx<T>(z), half = e * Vec<double>(0.5);
    const Vec<double> density =
        times_exp_square<T>(Vec<double>(0.39894228040143267794), clamp_high(abs(x), 40.0), 0.5);
    const Vec<double> tail = times_exp_square<T>(half, clamp_high(abs(x), 40.0), 0.5);
    const Vec<double> left = Vec<double>(0.79788456080286535588) / e;
    return select(x > zero, density / (Vec<double>(1.0) - tail), left);
}
template <class T>
MERCER_OUTLINE Vec<double> normal_hazard_excess_for(Vec<double> x) {
    const Mask<double> far = x < Vec<double>(-12.0);
    const Vec<double> near = x + normal_hazard_for<T>(x);
    const Vec<double> r = Vec<double>(-1.0) / select(far, x, Vec<double>(-12.0));
    const Vec<double> series =
        r * horner(r * r, 0x1.fffffffffffffp-1, -0x1.fffffffffdb49p0, 0x1.3ffffffbadac3p3,
                   -0x1.27fffcdaa276cp6, 0x1.60fed8c48a99cp9, -0x1.fde2ba1cc51d5p12,
                   0x1.ab81113f916e7p16, -0x1.7d48d70b43ec4p20, 0x1.036b1c54c76d2p24);
    return select(far, series, near);
}

#define MERCER_IN_DOUBLE(name)                                               \
    template <class T>                                                       \
    MERCER_INLINE Vec<T> name(Vec<T> x) {                                    \
        return in_double([](Vec<double> v) { return name##_for<T>(v); }, x); \
    }
MERCER_IN_DOUBLE(erfc)
MERCER_IN_DOUBLE(normal_cdf)
MERCER_IN_DOUBLE(normal_pdf)
MERCER_IN_DOUBLE(log_normal_cdf)
MERCER_IN_DOUBLE(exp_minus_square)
MERCER_IN_DOUBLE(normal_hazard)
MERCER_IN_DOUBLE(normal_hazard_excess)
#undef MERCER_IN_DOUBLE

}  // namespace mercer::MERCER_ISA
