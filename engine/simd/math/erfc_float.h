// erfc, Φ, φ and e^(−x²) in float lanes.
//
// E(z) = e^(z²) erfc z = t Q(t) with t = 1/(1 + z/2), Q = c + v P(v), v = t − 0.4375, of degree 10,
// minimax (Sollya, fpminimax; 2^-26.7 for all z ≥ 0). What the division, the last step of Q
// and the product with t round off is kept in a second float: E is good to 2^-25. Then
//   erfc |x| = E(|x|) e^(−x²),   Φ(−|x|) = ½ E(|x|/√2) e^(−x²/2)
// with the square in two floats, and one rounding of note at the end: the tails keep their digits down to
// the last subnormal. The other side is 2 − erfc |x| and 1 − Φ(−|x|).
//
// Largest errors measured: docs/accuracy.md.
#pragma once

#include "engine/simd/math/pow.h"

namespace mercer::MERCER_ISA {

/// E(2 c a) for a ≥ 0 and the constant c = high + low.
MERCER_INLINE Pair<float> erfcx_pair(Vec<float> a, float high, float low) {
    const Vec<float> one(1.0f), c(high), centre(0x1.e144dp-2f);
    const Vec<float> d = fma(a, c, one), t = one / d;
    Vec<float> d_low = fma(a, c, one - d);
    if (low != 0) d_low = fma(a, Vec<float>(low), d_low);
    const Vec<float> lost = fma(-t, d_low, fma(-t, d, one));  // 1/(d + d_low) = t (1 + lost)
    const Vec<float> v = t - Vec<float>(0.4375f);
    const Vec<float> p =
        horner(v, 0x1.3d029cp-1f, 0x1.0e42c4p-1f, 0x1.796a8ep-3f, -0x1.1344b8p-3f, -0x1.149496p-3f,
               0x1.0e1978p-4f, 0x1.715214p-4f, -0x1.e45c0ap-5f, -0x1.83913cp-5f, 0x1.7238aap-5f);
    const Vec<float> q = fma(v, p, centre);
    const Vec<float> q_low = fma(v, p, centre - q) + Vec<float>(0x1.2228b8p-26f);
    const Vec<float> slope = fma(t, Vec<float>(1.25f), one);  // d log E / d log t, about
    const Vec<float> e = t * q;
    return {e, fma(t, fma(q, slope * lost, q_low), fma(t, q, -e))};
}

/// f e^(−c x²) for c = 1 or ½.
MERCER_INLINE Vec<float> times_exp_square(Pair<float> f, Vec<float> x, float c) {
    const Vec<float> h = x * x, l = fma(x, x, -h), minus(-c);
    const auto e = exp_reduce(h * minus);
    const Pair<float> r = quick_sum(e.r, fma(l, minus, e.low));
    const Vec<float> q = fma(r.high * r.high, exp_polynomial(r.high), r.low);
    const Vec<float> rest = fma(f.high, q, fma(f.low, r.high, f.low));
    return scale(f.high + fma(f.high, r.high, rest), e.n);
}

MERCER_INLINE Vec<float> erfc(Vec<float> x) {
    const Vec<float> a = clamp_high(abs(x), 10.1f);  // erfc 10.1 rounds to 0
    const Vec<float> y = times_exp_square(erfcx_pair(a, 0.5f, 0.0f), a, 1.0f);
    return select(x < Vec<float>(0.0f), Vec<float>(2.0f) - y, y);
}
MERCER_INLINE Vec<float> normal_cdf(Vec<float> x) {
    const Vec<float> a = clamp_high(abs(x), 14.3f), half(0.5f);
    const Pair<float> e = erfcx_pair(a, 0x1.6a09e6p-2f, 0x1.9fcef4p-28f);
    const Vec<float> y = times_exp_square({e.high * half, e.low * half}, a, 0.5f);
    return select(x > Vec<float>(0.0f), Vec<float>(1.0f) - y, y);
}
MERCER_INLINE Vec<float> normal_pdf(Vec<float> x) {
    const Pair<float> c{Vec<float>(0x1.988454p-2f), Vec<float>(-0x1.857936p-27f)};  // 1/√(2π)
    return times_exp_square(c, clamp_high(abs(x), 14.5f), 0.5f);
}
MERCER_INLINE Vec<float> exp_minus_square(Vec<float> x) {
    const Pair<float> one{Vec<float>(1.0f), Vec<float>(0.0f)};
    return times_exp_square(one, clamp_high(abs(x), 10.3f), 1.0f);
}

}  // namespace mercer::MERCER_ISA
