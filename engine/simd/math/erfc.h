// erfc, the normal distribution function Φ, its density, its logarithm, and φ/Φ.
//
// All rest on E(z) = e^(z²) erfc z for z ≥ 0. Double: (1 + 2z) E(z) = 1 + s q(s − 1), s = 2z/(z + 3), q of
// degree 26, 2^-53.9. For a float's result: a quotient of polynomials of degrees 6 and 7 with positive
// coefficients, 2^-34. Both interpolate at Chebyshev points in z/(z + 3) or near it. Then
//   erfc |x| = e^(−x²) E(|x|),   Φ(−|x|) = ½ e^(−x²/2) E(|x|/√2),
// with the square in two parts, so that the tails keep their digits down to the last subnormal;
// the other side is 2 − erfc |x| and 1 − Φ(−|x|). In double E for these is t Q(t), t = 1/(z + 3), Q of degree 20
// (2^-58, for 0.84 ≤ z ≤ 28.6), and nearer to 0 they are 1 − erf x (|x| < 1) and ½ − |x| (c + M(x²)) (|x| < 1.25, M
// of degree 11, 2^-60): a vector without larger |x| leaves the rest out.
//   log Φ(x) = −x²/2 + log(E/2) for x ≤ 0 (no cancellation: both are negative), and
//   log1p(−Φ(−x)) to the right.
// erfc, Φ, φ and e^(−x²) of floats have lanes of their own (erfc_float.h); the rest of floats goes
// in double lanes.
//
// Largest errors measured: docs/accuracy.md.
#pragma once

#include "engine/simd/math/erf.h"
#include "engine/simd/math/erfc_float.h"
#include "engine/simd/math/log.h"
#include "engine/simd/math/quarters.h"
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
MERCER_INLINE Pair<double> times_exp(Pair<double> f, Vec<double> h, Vec<double> l) {
    using C = Ln2<double>;
    const Vec<double> n = round_product(h, C::inverse),
                      r = fma(n, Vec<double>(-C::high), h) + fma(n, Vec<double>(-C::low), l);
    const Vec<double> q = fma(r * r, exp_polynomial_for<T>(r), r);
    const Pair<double> y = quick_sum(f.high, fma(f.high, q, f.low));
    return {scale(y.high, n), scale(y.low, n)};
}

/// No z of a finite argument is larger, but for doubles whose E does not matter.
template <class T>
constexpr double farthest = sizeof(T) == 8 ? 1e100 : 1e40;

/// E(z + rest/2) for 0 ≤ z ≤ farthest<T> and a rest below z's last place, which counts for T = double.
template <class T>
MERCER_INLINE Pair<double> erfcx_pair(Vec<double> z, Vec<double> rest = Vec<double>(0.0)) {
    if constexpr (sizeof(T) == 8) {
        // One division for s and for 1/t, t = 1 + 2z; what the latter's steps round off is kept.
        const Vec<double> one(1.0), d = z + z, t = d + one, w = z + Vec<double>(3.0);
        const Vec<double> t_low = (d + (one - t)) + rest;
        const Vec<double> r = one / (w * t), s = (d * t) * r, rough = w * r;
        const Vec<double> lost = fma(-rough, t_low, fma(-rough, t, one));
        const Vec<double> inverse = fma(rough, lost, rough);
        const Vec<double> inverse_low = fma(rough, lost, rough - inverse);
        // What cancels at u = 1 is kept apart.
        const Vec<double> u = s - one,
                          rest_of_q = horner_quarters(
                              u, 0x1.5d40a2324c5d4p-2, -0x1.b0fdddbee450cp-3, 0x1.79703b43800cbp-4,
                              -0x1.86984b2e39176p-6, 0x1.23872223b882dp-14, 0x1.426c153160604p-9,
                              -0x1.2b7899b3a15fep-11, -0x1.b58adc8c93c56p-13, 0x1.b20321667d09cp-14,
                              0x1.6ac50b6d1d9dfp-16, -0x1.17b8db1ecf021p-16, -0x1.cc0fc226f7f59p-19,
                              0x1.69a5a96926f1ap-19, 0x1.a16db79519684p-21, -0x1.bfac2d259ccp-22,
                              -0x1.aac6717dc8f31p-23, 0x1.bb704fa4f91e4p-25, 0x1.a256e3b790d83p-25,
                              -0x1.9a680d61d76b2p-30, -0x1.605236a7a266cp-27,
                              -0x1.c128852af5574p-30, 0x1.b8ae051030352p-30, 0x1.19e73b7b79d54p-31,
                              -0x1.2941f2ff302d1p-33, -0x1.0d397b7aa699cp-34);
        const Vec<double> q =
            fma(u * u, rest_of_q,
                fma(u, Vec<double>(-0x1.8df4cdbd61a96p-2), Vec<double>(0x1.03148b5f9261dp-2)));
        const Vec<double> n = fma(s, q, one);
        const Vec<double> e = n * inverse;
        return {e, fma(n, inverse_low, fma(n, inverse, -e))};
    } else {
        const Vec<double> e =
            horner(z, 0x1.0000000027adep0, 0x1.c4ea581da1ae6p0, 0x1.84556d27bb328p0,
                   0x1.91fb7051d75c6p-1, 0x1.079aa4e62e876p-2, 0x1.a30f360d26c73p-5,
                   0x1.461c45d606656p-8) /
            horner(z, 0x1p0, 0x1.72e3e69cd8d68p1, 0x1.e4abf129415e6p1, 0x1.74c986e9a42c4p1,
                   0x1.6fda6e1ff680ep0, 0x1.d7bde6c1cebc8p-2, 0x1.7361b9bbb6b97p-4,
                   0x1.210202a9d5da5p-7);
        return {e, Vec<double>(0.0)};
    }
}

template <class T>
MERCER_INLINE Vec<double> erfcx(Vec<double> z) {
    return erfcx_pair<T>(z).high;
}

/// e^(−c x²), c = 1 or ½, times f.
template <class T>
MERCER_INLINE Pair<double> times_exp_square_pair(Pair<double> f, Vec<double> x, double c) {
    const Vec<double> m = x * Vec<double>(-c), h = m * x;
    return times_exp<T>(f, h, fma(m, x, -h));
}
template <class T>
MERCER_INLINE Vec<double> times_exp_square(Pair<double> f, Vec<double> x, double c) {
    return times_exp_square_pair<T>(f, x, c).high;
}

/// E(z + rest) for 0.84 ≤ z ≤ 28.6: t Q(t), t = 1/(z + 3).
MERCER_INLINE Pair<double> erfcx_far(Vec<double> z, Vec<double> rest) {
    const Vec<double> one(1.0), three(3.0), d = z + three, t = one / d;
    const Vec<double> d_low = (z - (d - three)) + rest;
    const Vec<double> lost = fma(-t, d_low, fma(-t, d, one));  // 1/(d + d_low) = t (1 + lost)
    const Vec<double> v = t - Vec<double>(0x1.2b125ce4ff8d4p-3);
    const Vec<double> centre(0x1.f23c646368becp-1);
    const Vec<double> p = horner_quarters(
        v, 0x1.203ef8124ea79p+2, 0x1.1795c6ea892bcp+4, 0x1.b957268ec4ba5p+5, 0x1.0a8ade25862e2p+7,
        0x1.a10e1e982aca3p+7, 0x1.aac1ab0109c56p+5, -0x1.4af95ad9275e4p+9, -0x1.4580fe61e0e2cp+10,
        0x1.3d2ae3c3a818ep+10, 0x1.e924515fb636dp+12, -0x1.51cb95a2be2f2p+8, -0x1.5e70ac4b480aep+15,
        -0x1.c4185c80d4e93p+13, 0x1.14deb17dce280p+18, 0x1.5d437d85273ddp+16,
        -0x1.e42c278d31ee5p+20, -0x1.8e3a1c45a7fb3p+15, 0x1.a7f51ecda4309p+23,
        -0x1.785d4949fcaeep+21, -0x1.0b0e6806540fdp+26);
    const Vec<double> q = fma(v, p, centre), q_low = fma(v, p, centre - q);
    const Vec<double> slope = fma(t, Vec<double>(6.2), one);  // d log E / d log t, about
    const Vec<double> e = t * q;
    return {e, fma(t, fma(q, slope * lost, q_low), fma(t, q, -e))};
}

template <class T>
MERCER_OUTLINE Vec<T> erfc(Vec<T> x) {
    const Vec<T> zero(0.0), one(1.0), a = abs(x), d = one - x;
    const Mask<T> far = !(a < one);
    Vec<T> y = d + fma(-x, erf_polynomial(x * x), (one - d) - x);
    if (any(far)) {
        const Vec<T> b = clamp_high(a, 28.0);  // erfc 28 rounds to 0
        const Vec<T> tail = times_exp_square<T>(erfcx_far(b, zero), b, 1.0);
        y = select(far, select(x < zero, Vec<T>(2.0) - tail, tail), y);
    }
    return y;
}
constexpr double sqrt_half = 0.70710678118654752440;
/// 1/√(2π)
MERCER_INLINE Pair<double> inverse_root_two_pi() {
    return {Vec<double>(0x1.9884533d43651p-2), Vec<double>(-0x1.cbc0d30ebfd15p-56)};
}
/// z = a √½, and what is missing from 2z.
MERCER_INLINE Pair<double> times_sqrt_half(Vec<double> a) {
    const Vec<double> z = a * Vec<double>(sqrt_half), root(0x1.6a09e667f3bcdp0);
    return {z, fma(a, Vec<double>(-0x1.bdd3413b26456p-54), fma(a, root, -(z + z)))};
}
MERCER_INLINE Pair<double> halved(Pair<double> e) {
    return {e.high * Vec<double>(0.5), e.low * Vec<double>(0.5)};
}
/// ½ E(a/√2), which is Φ(−a) e^(a²/2), for a ≥ 0.
template <class T>
MERCER_INLINE Pair<double> half_erfcx(Vec<double> a) {
    const Pair<double> z = times_sqrt_half(a);
    return halved(erfcx_pair<T>(z.high, z.low));
}
/// Φ(−|x|): ½ − a (c + M(a²)), c = 1/√(2π), below 1.25.
MERCER_INLINE Vec<double> normal_tail(Vec<double> x) {
    const Vec<double> a = abs(x), c = inverse_root_two_pi().high, half(0.5);
    const Mask<double> far = !(a < Vec<double>(1.25));
    const Vec<double> m =
        horner_quarters(a * a, -0x1.09103eef22e5ap-55, -0x1.1058377e2ced1p-4, 0x1.46d042976895ep-7,
                        -0x1.37403f6b7d557p-10, 0x1.e42b0d4761cf7p-14, -0x1.3ce8f9c062755p-17,
                        0x1.658a01ae7f3a2p-21, -0x1.621fbfd557c31p-25, 0x1.38519a0b8baa2p-29,
                        -0x1.ee005464aa48ap-34, 0x1.54347be0b182bp-38, -0x1.465181078cbebp-43);
    const Vec<double> p = a * c, h = half - p;
    Vec<double> y = h + fma(-a, m, ((half - h) - p) - fma(a, c, -p));
    if (any(far)) {
        const Vec<double> b = clamp_high(a, 40.0);
        const Pair<double> z = times_sqrt_half(b), e = halved(erfcx_far(z.high, z.low * half));
        y = select(far, times_exp_square<double>(e, b, 0.5), y);
    }
    return y;
}
template <class T>
MERCER_OUTLINE Vec<T> normal_cdf(Vec<T> x) {
    const Vec<T> y = normal_tail(x);
    return select(x > Vec<T>(0.0), Vec<T>(1.0) - y, y);
}
template <class T>
MERCER_OUTLINE Vec<T> normal_pdf(Vec<T> x) {
    return times_exp_square<T>(inverse_root_two_pi(), clamp_high(abs(x), 40.0), 0.5);
}
template <class T>
MERCER_OUTLINE Vec<T> exp_minus_square(Vec<T> x) {
    return times_exp_square<T>({Vec<T>(1.0), Vec<T>(0.0)}, clamp_high(abs(x), 28.0), 1.0);
}
template <class T>
MERCER_OUTLINE Vec<double> log_normal_cdf_for(Vec<double> x) {
    const Vec<double> zero(0.0), half(0.5);
    const Mask<double> right = x > zero;
    Vec<double> y = zero;
    if (any(!right)) {
        const Vec<double> a = select(right, zero, x);
        const Vec<double> z = clamp_high(abs(a) * Vec<double>(sqrt_half), farthest<T>);
        y = fma(a * -half, a, log(erfcx<T>(z) * half));
    }
    if (any(right)) {
        const Vec<double> a = clamp_high(abs(x), 40.0);
        const Pair<double> t = times_exp_square_pair<T>(half_erfcx<T>(a), a, 0.5);
        const Vec<double> l = log1p(-t.high), rest = t.low / (Vec<double>(1.0) - t.high);
        y = select(right, select(t.high < Vec<double>(1e-30), l, l - rest), y);
    }
    return y;
}

/// h = φ(x)/Φ(x) = (log Φ)', and x + h, which is −h'/h; far left h = |x| + 1/|x| − …
template <class T>
MERCER_OUTLINE Vec<double> normal_hazard_for(Vec<double> x) {
    const Vec<double> zero(0.0), z = clamp_high(abs(x) * Vec<double>(sqrt_half), farthest<T>);
    const Vec<double> e = erfcx<T>(z), half = e * Vec<double>(0.5);
    const Vec<double> density =
        times_exp_square<T>(inverse_root_two_pi(), clamp_high(abs(x), 40.0), 0.5);
    const Vec<double> tail = times_exp_square<T>({half, zero}, clamp_high(abs(x), 40.0), 0.5);
    const Vec<double> left =
        select(x < Vec<double>(-farthest<T>), -x, Vec<double>(0.79788456080286535588) / e);
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

MERCER_IN_DOUBLE(log_normal_cdf)
MERCER_IN_DOUBLE(normal_hazard)
MERCER_IN_DOUBLE(normal_hazard_excess)

}  // namespace mercer::MERCER_ISA
