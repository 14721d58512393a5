// log |Γ|, digamma ψ = (log Γ)', and its derivatives ψ₁, ψ₂, ψ₃.
//
// log Γ: around the zeros 1 and 2, y A(y) and y B(y) with y the distance to them (A for −0.3 ≤ y ≤
// 0.4, B for |y| ≤ 0.6), shifted to 0 < x < 0.7 by Γ(x) = Γ(1 + x)/x; from 2.6 on Stirling's
// formula (x − ½) log x − x + ½ log 2π + S(1/x²)/x, with S interpolated over all of that range and,
// for doubles, x log x in two parts, for what is left of it is smaller by far. Left of −0.3
// log |Γ(x)| = log(π/|x sin πx|) − log Γ(|x|), x's distance to an integer being exact.
// ψ: (y − x₀) R(y) on [1, 2.6], x₀ the zero in two parts; log y − 1/2y − T(1/y²)/y² beyond; ψ(x) =
// ψ(1 + x) − 1/x below 1 and ψ(1 − x) − π cot πx below 0.
// ψ_n: n! Σ 1/(x + k)ⁿ⁺¹ up to 12 (6 for floats), then the asymptotic series; its reflection to the left.
// The fits interpolate at Chebyshev points, 2^-53 or better (2^-29 for floats, which are computed
// in double lanes).
//
// Largest errors measured: docs/accuracy.md.
#pragma once

#include "engine/simd/math/log.h"
#include "engine/simd/math/pow.h"
#include "engine/simd/math/trig.h"
#include "engine/simd/wide.h"

namespace mercer::MERCER_ISA {

inline constexpr double pi = 3.14159265358979323846;

/// a − (nearest integer), exactly, for a ≥ 0.
MERCER_INLINE Vec<double> off_integer(Vec<double> a) {
    const Vec<double> grid(0x1p52);
    return a - select(a < grid, (a + grid) - grid, a);
}
/// r = a − (nearest integer) for a ≥ 0; sin πr and cos πr, within 0.8 ULP.
struct Turn {
    Vec<double> r, sin, cos;
};
MERCER_INLINE Turn turn(Vec<double> a) {
    const Vec<double> high(pi), low(0x1.1a62633145c07p-53), r = off_integer(a), b = abs(r);
    const Mask<double> steep = b > Vec<double>(0.25);
    const Vec<double> t = select(steep, Vec<double>(0.5) - b, b), h = t * high;
    const Angle<double> angle{as_int(h), h, fma(t, low, fma(t, high, -h))};
    Vec<double> s, c;
    sincos_reduced(angle, s, c);
    return {r, copysign(select(steep, c, s), r), select(steep, s, c)};
}

/// |sin πa|, a ≥ 0
template <class T>
MERCER_INLINE Vec<double> sine_size(Vec<double> a) {
    const Vec<double> r = abs(off_integer(a));
    if constexpr (sizeof(T) == 8)
        return abs(turn(a).sin);
    else
        return r * horner(r * r, 0x1.921fb54425516p+1, -0x1.4abbce51c31dap+2, 0x1.466bc06900900p+1,
                          -0x1.32d12ebe6b560p-1, 0x1.5014072bd9ca2p-4, -0x1.cc9b5f3456b49p-8);
}
/// π/sin πr in two parts; NaN at a pole.
MERCER_INLINE Pair<double> pi_over_sin(const Turn& t) {
    const Vec<double> high(pi), low(0x1.1a62633145c07p-53), nan = quiet_nan<double>();
    const Vec<double> s = select(t.r == Vec<double>(0.0), nan, t.sin), q = high / s;
    // By a subnormal s, q is infinite: no second part.
    return {q, select(abs(q) < infinity<double>(), (fma(-q, s, high) + low) / s, Vec<double>(0.0))};
}

template <class T>
MERCER_INLINE Vec<double> lgamma_near_one(Vec<double> y) {
    if constexpr (sizeof(T) == 8)
        return horner(y, -0x1.2788cfc6fb619p-1, 0x1.a51a6625307d3p-1, -0x1.9a4d55beab2d8p-2,
                      0x1.151322ac7d8fbp-2, -0x1.a8b9c17aa5feap-3, 0x1.5b40cb0ff93c6p-3,
                      -0x1.2703a1dce45d6p-3, 0x1.010b36b6e7bf1p-3, -0x1.c806707e7924fp-4,
                      0x1.9a01e061cbf4ap-4, -0x1.748c2d48d7f1cp-4, 0x1.556b3b6d49ea5p-4,
                      -0x1.3b1e91215b53p-4, 0x1.248f28ee3b10fp-4, -0x1.10fad72d0179ap-4,
                      0x1.005878342004p-4, -0x1.e4ba5fed160bp-5, 0x1.c36fa0541ea4p-5,
                      -0x1.967c5841be085p-5, 0x1.97241bcb9df8ep-5, -0x1.f32244c71f394p-5,
                      0x1.ec7b00e3d5dadp-5, -0x1.c0aedfc4d23b4p-6);
    else
        return horner(y, -0x1.2788cfc71bfap-1, 0x1.a51a66429d954p-1, -0x1.9a4d5568be341p-2,
                      0x1.1512f4a8a1c82p-2, -0x1.a8b9a72ec9e85p-3, 0x1.5b54ea7deaee2p-3,
                      -0x1.271abca9337acp-3, 0x1.fe8c7b19ed869p-4, -0x1.c1acdaa20805ap-4,
                      0x1.babaa7ca83059p-4, -0x1.c4f68744662d6p-4, 0x1.0bdb1397f4064p-4);
}
template <class T>
MERCER_INLINE Vec<double> lgamma_near_two(Vec<double> y) {
    if constexpr (sizeof(T) == 8)
        return horner(y, 0x1.b0ee6072093cep-2, 0x1.4a34cc4a60fa6p-2, -0x1.13e001a557607p-4,
                      0x1.51322ac7d846fp-6, -0x1.e404fc218f5cap-8, 0x1.7add6eadb9ac3p-9,
                      -0x1.38ac5c2bfbacfp-10, 0x1.0b36af84b6c42p-11, -0x1.d3fd4c73eb7ccp-13,
                      0x1.a127b1d00488cp-14, -0x1.78de5cadb8c66p-15, 0x1.580da7dfee2c1p-16,
                      -0x1.3cbc70b827d97p-17, 0x1.259c04f3db8eap-18, -0x1.11b721758e86fp-19,
                      0x1.0012bd0fc1c31p-20, -0x1.e1c24591f3668p-22, 0x1.cf2ec1df89169p-23,
                      -0x1.b6d06e6d0335ap-24, 0x1.5fc229553dcbdp-25, -0x1.4e7651f9a6e4cp-26,
                      0x1.302a82d2d7808p-26, -0x1.237268debcf9cp-27);
    else
        return horner(y, 0x1.b0ee60724166p-2, 0x1.4a34cc4a46e22p-2, -0x1.13e00254a722dp-4,
                      0x1.51322c0dabf04p-6, -0x1.e4039b095661ap-8, 0x1.7adc2692d66f8p-9,
                      -0x1.38ecfdb09efcbp-10, 0x1.0b72bc43d64f6p-11, -0x1.c96846a015991p-13,
                      0x1.975340ace5f5bp-14, -0x1.dc87edf22569bp-15, 0x1.b49625d804b61p-16);
}
/// S(u), u = 1/x² for x ≥ 2.6, with log Γ(x) = (x − ½) log x − x + ½ log 2π + S/x.
template <class T>
MERCER_INLINE Vec<double> stirling(Vec<double> u) {
    if constexpr (sizeof(T) == 8)
        return horner(u, 0x1.5555555555555p-4, -0x1.6c16c16c0bdd6p-9, 0x1.a01a015e6bfd9p-11,
                      -0x1.381359a843888p-11, 0x1.b94540b4cfff8p-11, -0x1.f56f7c7855d97p-10,
                      0x1.99d6443117907p-8, -0x1.a76f85353a5e8p-6, 0x1.d188f2cf131bfp-4,
                      -0x1.c7b08a7d4fe58p-2, 0x1.531d3be34a5b1p0, -0x1.440f69f86ab58p1,
                      0x1.22ee321c6f7bdp1);
    else
        return horner(u, 0x1.5555554ded43fp-4, -0x1.6c158626b7399p-9, 0x1.9f05120933751p-11,
                      -0x1.21bd83273284dp-11, 0x1.ce0608c05a608p-12);
}
/// log Γ(x) for x ≥ 2.6.
template <class T>
MERCER_INLINE Vec<double> lgamma_large(Vec<double> x) {
    const Vec<double> b = x - Vec<double>(0.5), r = Vec<double>(1.0) / x;
    const Vec<double> rest = fma(r, stirling<T>(r * r), Vec<double>(0.91893853320467274178));
    Vec<double> y = x;
    if constexpr (sizeof(T) == 4) {
        y = fma(b, log_for<T>(x), -x) + rest;
    } else {
        using C = Ln2<double>;
        const auto [m, k] = decompose(x);
        const Pair<double> l =
            product(log2_pair(k, m), Pair<double>{Vec<double>(C::high), Vec<double>(C::low)});
        const Vec<double> t = b * l.high, t_low = fma(b, l.low, fma(b, l.high, -t));
        const Vec<double> u = t - x, v = u - t, u_low = (t - (u - v)) - (x + v);
        const Vec<double> huge = fma(x, l.high - Vec<double>(1.0), x * l.low);  // t may overflow
        y = select(x < Vec<double>(1e20), u + (rest + (t_low + u_low)), huge);
    }
    return select(x < infinity<double>(), y, x);
}

template <class T>
MERCER_OUTLINE Vec<double> lgamma_for(Vec<double> x) {
    const Vec<double> zero(0.0), one(1.0), two(2.0), a = abs(x);
    const Mask<double> reflected = x < Vec<double>(-0.3);
    const Vec<double> t = select(reflected, a, x);
    const Mask<double> low = t < Vec<double>(0.7), large = t >= Vec<double>(2.6);
    Vec<double> y = zero;
    if (any(!large)) {
        const Mask<double> below = t < Vec<double>(0.4), left = t < Vec<double>(1.4);
        const Vec<double> d = t - select(below, zero, select(left, one, two));
        const Mask<double> first = below || (left && !low);
        y = d * select(first, lgamma_near_one<T>(d), lgamma_near_two<T>(d)) + zero;  // 0, not −0
    }
    if (any(large)) y = select(large, lgamma_large<T>(select(large, t, two + one)), y);
    if (any(low || reflected)) {
        Vec<double> under = a;
        if (any(reflected)) {
            const Vec<double> s = sine_size<T>(a);
            y = select(reflected && s != zero, -y, y);  // at a pole ∞ + y = ∞, y = ∞ too
            under = select(reflected, s * select(low, one, a) * Vec<double>(1 / pi), a);
        }
        y = select(low || reflected, y - log_for<T>(under), y);
        y = select(a < infinity<double>() || is_nan(x), y, a);
    }
    return y;
}

/// R(y) on [1, 2.6], at u = y − 1.8.
template <class T>
MERCER_INLINE Vec<double> digamma_near_zero(Vec<double> u) {
    if constexpr (sizeof(T) == 8)
        return horner(u, 0x1.af3bd22ad277dp-1, -0x1.3e9afd2dafd77p-2, 0x1.29d1a7ffc9746p-3,
                      -0x1.2ec1129dca0b6p-4, 0x1.400d5bea14dc9p-5, -0x1.59603cfe9d5acp-6,
                      0x1.790b8b5015492p-7, -0x1.9e6c36d79dd9ep-8, 0x1.c95f63e8b218ap-9,
                      -0x1.fa0ad773284edp-10, 0x1.1861e11f75bep-10, -0x1.370058a51ecddp-11,
                      0x1.592ec73521581p-12, -0x1.7f64853956004p-13, 0x1.a9cda7d1d4e96p-14,
                      -0x1.d6f403581ebb8p-15, 0x1.0597c848a991dp-15, -0x1.2e5d788941493p-16,
                      0x1.4fefdd07975a7p-17, -0x1.16d7a37479e98p-18, 0x1.35cfffca7b12cp-19,
                      -0x1.ae998ca3ee9a8p-19, 0x1.de70e3dd98011p-20, 0x1.83eacbb5c9efdp-21,
                      -0x1.af0535cf12f82p-22, -0x1.672fbb08acfffp-21, 0x1.8f187f3a56344p-22);
    else
        return horner(u, 0x1.af3bd234b7d2fp-1, -0x1.3e9afd38ae2c9p-2, 0x1.29d1905ebfb07p-3,
                      -0x1.2ec0f85dd961cp-4, 0x1.40167e6d840bfp-5, -0x1.596a62de87491p-6,
                      0x1.77bbfda349dbep-7, -0x1.9cf77257144a8p-8, 0x1.dff29a55c124cp-9,
                      -0x1.098f7555a8408p-9, 0x1.6edbf15377b72p-11, -0x1.969aa1a91257p-12,
                      0x1.6cc62003955e3p-11, -0x1.95206c34baf2cp-12);
}
/// T(u), u = 1/y² for y ≥ 2.6.
template <class T>
MERCER_INLINE Vec<double> digamma_series(Vec<double> u) {
    if constexpr (sizeof(T) == 8)
        return horner(u, 0x1.5555555555553p-4, -0x1.1111111104df2p-7, 0x1.041040d960191p-8,
                      -0x1.1110f324d1ca2p-8, 0x1.f070f51930203p-8, -0x1.58f1ca5bc21b3p-6,
                      0x1.4f07ed1619093p-4, -0x1.997dc0a46ef6bp-2, 0x1.1089da654488dp1,
                      -0x1.5259d4664532ep3, 0x1.56fd4ba7df70bp5, -0x1.f8babd61f6ad7p6,
                      0x1.d27f9c1dfee6ap7, -0x1.914d8c9c369f2p7);
    else
        return horner(u, 0x1.5555554f229fdp-4, -0x1.1110b21258471p-7, 0x1.03d3652e43b53p-8,
                      -0x1.099fe96aa3662p-8, 0x1.7e6e2248a86dbp-8, -0x1.994ad71e0007p-8);
}
template <class T>
MERCER_OUTLINE Vec<double> digamma_for(Vec<double> x) {
    const Vec<double> zero(0.0), one(1.0);
    const Mask<double> left = x < zero, below = x < one;
    const Vec<double> y = select(left, one - x, select(below, one + x, x));
    const Mask<double> large = y > Vec<double>(2.6);
    Vec<double> f = zero;
    if (any(!large)) {
        const Vec<double> lost = select(below, select(left, (one - y) - x, x - (y - one)), zero);
        const Vec<double> d =
            (y - Vec<double>(0x1.762d86356be3fp0)) + (lost - Vec<double>(0x1.b86a722197829p-54));
        f = d * digamma_near_zero<T>(y - Vec<double>(1.8));
    }
    if (any(large)) {
        const Vec<double> r = one / y, half = r * Vec<double>(0.5);
        const Vec<double> g = log_for<T>(y) - fma(r * r, digamma_series<T>(r * r), half);
        f = select(large, g, f);
    }
    if (any(below)) {
        Vec<double> pole = one / x;
        if (any(left)) {  // cot πx = −cot πr
            const Turn t = turn(abs(x));
            const Pair<double> q = pi_over_sin(t);
            pole = select(left, fma(-t.cos, q.high, -t.cos * q.low), pole);
        }
        f = select(below, f - pole, f);
    }
    return f;
}

constexpr double factorial(int n) { return n < 2 ? 1.0 : n * factorial(n - 1); }

/// (2k + n − 1)!/(2k)!
constexpr double factorial_ratio(int n, int k) {
    return factorial(2 * k + n - 1) / factorial(2 * k);
}
/// (−1)ⁿ⁺¹ ψ_n at y ≥ 12 or, for floats, 6: (n − 1)!/yⁿ + n!/2yⁿ⁺¹ + Σ B₂ₖ (2k + n − 1)!/((2k)! y²ᵏ⁺ⁿ).
template <int n>
MERCER_INLINE Vec<double> polygamma_series(Vec<double> y) {
    constexpr double c[] = {factorial_ratio(n, 1) / 6,          -factorial_ratio(n, 2) / 30,
                            factorial_ratio(n, 3) / 42,         -factorial_ratio(n, 4) / 30,
                            factorial_ratio(n, 5) * 5 / 66,     -factorial_ratio(n, 6) * 691 / 2730,
                            factorial_ratio(n, 7) * 7 / 6,      -factorial_ratio(n, 8) * 3617 / 510,
                            factorial_ratio(n, 9) * 43867 / 798};
    constexpr double first = factorial(n - 1), half = factorial(n) / 2;
    const Vec<double> r = Vec<double>(1.0) / y, u = r * r;
    Vec<double> s = u * horner(u, +c[0], +c[1], +c[2], +c[3], +c[4], +c[5], +c[6], +c[7], +c[8]);
    s = fma(r, Vec<double>(half), s) + Vec<double>(first);
    for (int i = 0; i < n; ++i) s *= r;
    return s;
}

/// ψ_n, n = 1, 2, 3.
template <class T, int n>
MERCER_OUTLINE Vec<double> polygamma_for(Vec<double> x) {
    static_assert(n >= 1 && n <= 3);
    const Vec<double> zero(0.0), one(1.0), limit(sizeof(T) == 8 ? 12.0 : 6.0);
    const Mask<double> left = x < zero;
    Vec<double> y = select(left, one - x, x), s = zero, first = zero;
    const auto step = [&](Mask<double> more) MERCER_STEP {
        Vec<double> p = y * y;
        for (int i = 1; i < n; ++i) p *= y;
        y = select(more, y + one, y);
        return select(more, one / p, zero);
    };
    Mask<double> more = y < limit;
    if (any(more)) first = step(more);  // the largest term is added last
    for (more = y < limit; any(more); more = y < limit) s += step(more);
    const Vec<double> scale(factorial(n));
    const Vec<double> plus = fma(first, scale, fma(s, scale, polygamma_series<n>(y)));
    Vec<double> f = n % 2 ? plus : -plus;
    if (any(left)) {
        const Turn t = turn(abs(x));
        const Pair<double> q = pi_over_sin(t);
        const Vec<double> c = q.high * -t.cos, p = q.high * q.high;  // π cot πx
        const Vec<double> rest = fma(q.high, q.high, -p) + (q.high + q.high) * q.low;
        const Vec<double> s2 = select(p < infinity<double>(), p + rest, p);  // π²/sin² πx
        if constexpr (n == 1) f = select(left, s2 - f, f);
        if constexpr (n == 2) f = select(left, f - (c + c) * s2, f);
        if constexpr (n == 3) f = select(left, (s2 + s2) * fma(c * c, Vec<double>(2.0), s2) - f, f);
    }
    return f;
}

MERCER_IN_DOUBLE(lgamma)
MERCER_IN_DOUBLE(digamma)
template <int n, class T>
MERCER_INLINE Vec<T> polygamma(Vec<T> x) {
    return in_double([](Vec<double> v) { return polygamma_for<T, n>(v); }, x);
}

}  // namespace mercer::MERCER_ISA
