// sinh, cosh and their inverses.
//
// e^|x| = 2^n (y + y'), y + y' = 1 + r + r² P(r) in two parts; cosh x = 2^(n−1) (y + (y' + 2^−2n/y)), sinh
// with −, and for |x| < 1 x + x³ S(x²), S of degree 3 (float, 2^-30.2) or 7 (double, 2^-60.6).
// The inverses are logarithms of sums u + u' in two parts:
//   asinh x = log(√(x² + 1) + x),   acosh x = log(1 + t + √(t (t + 2))), t = x − 1,
//   atanh x = ½ log(1 + 2x/(1 − x)),
// with the square and its root, or the quotient, in two parts as well: nothing is lost near 0 and 1.
// From 2^14 (float) or 2^28 (double) on the first two are log 2x. A tiny x is its own result.
//
// Largest errors measured: docs/accuracy.md.
#pragma once

#include "engine/simd/math/log.h"
#include "engine/simd/math/pow.h"
#include "engine/simd/math/quarters.h"

namespace mercer::MERCER_ISA {

MERCER_INLINE Vec<float> sinh_polynomial(Vec<float> z) {
    return horner(z, 0x1.555556p-3f, 0x1.1110c6p-7f, 0x1.a03562p-13f, 0x1.724eccp-19f);
}
MERCER_INLINE Vec<double> sinh_polynomial(Vec<double> z) {
    return horner(z, 0x1.5555555555555p-3, 0x1.11111111111dap-7, 0x1.a01a019ff7ea6p-13,
                  0x1.71de3a7e28b42p-19, 0x1.ae6424928852ap-26, 0x1.6145212952f47p-33,
                  0x1.989ecd77021d8p-41, 0x1.dbb5e3ce0e6d9p-47);
}

/// 2^(n−1) (sum.high + (sum.low ± inverse)) is cosh a or sinh a, a ≥ 0.
template <class T>
struct Exponentials {
    Vec<T> n, inverse;
    Pair<T> sum;
    MERCER_INLINE explicit Exponentials(Vec<T> a) {
        const Vec<T> one(T(1));
        const auto e = exp_reduce(clamp_high(a, T(sizeof(T) == 4 ? 90 : 712)));
        sum = quick_sum(one, e.r);
        sum.low += fma(e.r * e.r, exp_polynomial(e.r), e.low);
        sum = quick_sum(sum.high, sum.low);
        inverse = power_of_two(Vec<T>(T(-2)) * clamp_high(e.n, T(60))) / sum.high;
        n = e.n - one;
    }
};
template <class T>
MERCER_INLINE Vec<T> cosh(Vec<T> x) {
    const Exponentials<T> e(abs(x));
    return scale(e.sum.high + (e.sum.low + e.inverse), e.n);
}
template <class T>
MERCER_INLINE Vec<T> sinh(Vec<T> x) {
    const Vec<T> a = abs(x), z = x * x;
    Vec<T> y = fma(a * z, sinh_polynomial(z), a);
    const Mask<T> large = !(a < Vec<T>(T(1)));
    if (any(large)) {
        const Exponentials<T> e(a);
        y = select(large, scale(e.sum.high + (e.sum.low - e.inverse), e.n), y);
    }
    return copysign(y, x);
}

/// a + b, exactly.
template <class T>
MERCER_INLINE Pair<T> two_sum(Vec<T> a, Vec<T> b) {
    const Vec<T> s = a + b, t = s - a;
    return {s, (a - (s - t)) + (b - t)};
}
/// √(h + l) for h > 0, |l| far below it; 0 for 0. A second division of doubles would take longer than three steps to the
/// inverse, which asinh of the smallest needs.
MERCER_INLINE Pair<float> sqrt(Pair<float> x) {
    const Vec<float> s = sqrt(x.high), d = fma(s, Vec<float>(2.0f), Vec<float>(0x1p-100f));
    return {s, (fma(-s, s, x.high) + x.low) / d};
}
MERCER_INLINE Pair<double> sqrt(Pair<double> x) {
    const Vec<double> s = sqrt(x.high), d = fma(s, Vec<double>(2.0), Vec<double>(0x1p-1000));
    return {s, (fma(-s, s, x.high) + x.low) * rough_inverse<3>(d)};
}
/// log(2^twice (u.high + u.low)), finite u ≥ 1.
template <class T>
MERCER_INLINE Vec<T> log_of_sum(Pair<T> u, Vec<T> twice) {
    const auto [m, k] = decompose(u.high);
    const Vec<T> f = m - Vec<T>(T(1)), low = u.low * power_of_two(-clamp_high(k, T(60)));
    return log_sum(k + twice, f, fma(low, fma(f, f, -f), low));  // low/(1 + f), to the third order
}
/// From here on x² + 1 is x², for what is looked for.
template <class T>
constexpr T far_out = T(sizeof(T) == 4 ? 0x1p14 : 0x1p28);
/// And up to here x³ is nothing beside x.
template <class T>
constexpr T tiny = T(sizeof(T) == 4 ? 0x1p-13 : 0x1p-28);

template <class T>
MERCER_INLINE Vec<T> asinh(Vec<T> x) {
    const Vec<T> zero(T(0)), one(T(1)), a = abs(x);
    const Mask<T> far = a >= Vec<T>(far_out<T>);
    const Vec<T> h = fma(a, a, one);
    const Pair<T> root = sqrt(Pair<T>{h, fma(a, a, one - h)});
    Pair<T> u = quick_sum(root.high, a);
    u = {select(far, a, u.high), select(far, zero, u.low + root.low)};
    Vec<T> y = log_of_sum(u, select(far, one, zero));
    y = select(a < Vec<T>(tiny<T>) || !(a < infinity<T>()), a, y);
    return copysign(y, x);
}
/// NaN for x < 1.
template <class T>
MERCER_INLINE Vec<T> acosh(Vec<T> x) {
    const Vec<T> zero(T(0)), one(T(1)), t = x - one, t2 = t + t;
    const Mask<T> far = x >= Vec<T>(far_out<T>);
    const Vec<T> h = fma(t, t, t2);
    const Pair<T> root = sqrt(Pair<T>{h, fma(t, t, t2 - h)}), v = quick_sum(root.high, t);
    Pair<T> u = two_sum(one, v.high);
    u = {select(far, x, u.high), select(far, zero, u.low + (v.low + root.low))};
    const Vec<T> y = log_of_sum(u, select(far, one, zero));
    return select(x >= one, select(x < infinity<T>(), y, x), quiet_nan<T>());
}
/// ±∞ at ±1, NaN beyond.
template <class T>
MERCER_INLINE Vec<T> atanh(Vec<T> x) {
    const Vec<T> one(T(1)), a = abs(x), a2 = a + a, d = one - a, r = one / d, q = a2 * r;
    const Vec<T> q_low = fma(-q, (one - d) - a, fma(-q, d, a2)) * r;
    Pair<T> u = two_sum(one, q);
    u.low += q_low;
    Vec<T> y = log_of_sum(u, Vec<T>(T(0))) * Vec<T>(T(0.5));
    y = select(a < one, select(a < Vec<T>(tiny<T>), a, y),
               select(a == one, infinity<T>(), quiet_nan<T>()));
    return copysign(y, x);
}

}  // namespace mercer::MERCER_ISA
