// exp and expm1.
//
// Reduction: n = round(x / ln 2), r = x − n ln 2 in two fma steps (the first is exact: x and n
// times the high part lie on a common grid and their difference fits the format), |r| ≤ 0.3475. e^r
// = 1 + r (1 + r P(r)), P minimax of degree 4 (float, relative error 2^-28.2) or 10 (double,
// 2^-63.5). exp scales by 2^n with a single rounding, so subnormal results are as exact as others.
// expm1 = (2^n − 1) + 2^n r + 2^n r² P(r), summed with the roundings of the first two terms kept;
// its P is minimax relative to e^r − 1, of degree 5 (float, 2^-31) or 10 (double, 2^-61.5).
//
// Largest error measured, ULP: exp 0.892 (float), 0.847 (double); expm1 0.890 (float), 1.014
// (double). Measured thus, here and in the other files: float: every one of the 2^32 arguments
// against libm's double function (tests/engine/math_exhaustive.cpp); double: 2 million arguments,
// a quarter of them at hard spots, against MPFR (tests/engine/math_test.cpp with a larger sample).
#pragma once

#include "engine/simd/math/poly.h"

namespace mercer::MERCER_ISA {

template <class T>
struct ExpReduced {
    Vec<T> n, first, r, low;
};

template <class T>
struct Ln2;
template <>
struct Ln2<float> {
    static constexpr float inverse = 0x1.715476p0f, high = 0x1.62e43p-1f, low = -0x1.05c61p-29f;
};
template <>
struct Ln2<double> {
    static constexpr double inverse = 0x1.71547652b82fep0, high = 0x1.62e42fefa39efp-1;
    static constexpr double low = 0x1.abc9e3b39803fp-56;
};

/// n, r after the first step and after both, and what rounding took from it.
template <class T>
MERCER_INLINE ExpReduced<T> exp_reduce(Vec<T> x) {
    const Vec<T> n = round_product(x, Ln2<T>::inverse);
    const Vec<T> first = fma(n, Vec<T>(-Ln2<T>::high), x);
    const Vec<T> r = fma(n, Vec<T>(-Ln2<T>::low), first);
    return {n, first, r, fma(n, Vec<T>(-Ln2<T>::low), first - r)};
}

/// P with e^r = 1 + r + r² P(r); `split`: in fewer steps that wait for one another.
template <bool split = false>
MERCER_INLINE Vec<float> exp_polynomial(Vec<float> r) {
    return horner<split>(r, 0x1.fffffap-2f, 0x1.55549p-3f, 0x1.555a22p-5f, 0x1.123b04p-7f,
                         0x1.695414p-10f);
}
template <bool split = false>
MERCER_INLINE Vec<double> exp_polynomial(Vec<double> r) {
    return horner<split>(r, 0x1p-1, 0x1.555555555555cp-3, 0x1.5555555555542p-5,
                         0x1.111111110e9dbp-7, 0x1.6c16c16c1f38bp-10, 0x1.a01a01b459ac7p-13,
                         0x1.a01a0179300b7p-16, 0x1.71ddee2dbce43p-19, 0x1.27e53bb4c846p-22,
                         0x1.af6f1026e4de5p-26, 0x1.1ee1b4f00c21ep-29);
}

/// The same with the error relative to e^r − 1.
MERCER_INLINE Vec<float> expm1_polynomial(Vec<float> r) {
    return horner(r, 0x1p-1f, 0x1.555554p-3f, 0x1.5554fp-5f, 0x1.111306p-7f, 0x1.6d43c2p-10f,
                  0x1.9e0de4p-13f);
}
MERCER_INLINE Vec<double> expm1_polynomial(Vec<double> r) {
    return horner(r, 0x1p-1, 0x1.5555555555559p-3, 0x1.555555555554dp-5, 0x1.111111110f63p-7,
                  0x1.6c16c16c1ab0fp-10, 0x1.a01a01b01d04fp-13, 0x1.a01a018e13ff5p-16,
                  0x1.71ddf7b89cf8ap-19, 0x1.27e51301d49a4p-22, 0x1.af5fe54cbb8adp-26,
                  0x1.1f1aea4f7a8ebp-29);
}

/// e^x = scale·(1 + q), for an x so small in size that the scale, a power of two, is a normal
/// number.
template <class T>
struct ExpParts {
    Vec<T> scale, q;
};
template <class T>
MERCER_INLINE ExpParts<T> exp_parts(Vec<T> x) {
    const auto e = exp_reduce(x);
    return {power_of_two(e.n), fma(e.r * e.r, exp_polynomial(e.r), e.r)};
}

/// e^r.
template <class T>
MERCER_INLINE Vec<T> exp_raised(const ExpReduced<T>& e) {
    const Vec<T> one(T(1));
    return fma(e.r, fma(e.r, exp_polynomial(e.r), one), one);
}

/// |x| up to which 2^n is one normal factor.
template <class T>
inline constexpr T near_argument = sizeof(T) == 4 ? T(65) : T(531);
/// e^x for such x, or NaN.
template <class T>
MERCER_INLINE Vec<T> exp_near(Vec<T> x) {
    const auto e = exp_reduce(x);
    return scale_near(exp_raised(e), e.n);
}

template <class T>
MERCER_INLINE Vec<T> exp(Vec<T> x) {
    if (!any_above(abs(x), Vec<T>(near_argument<T>))) [[likely]]
        return exp_near(x);
    // Beyond these bounds the result is 0 or infinity, and scale() finds it.
    const auto e =
        exp_reduce(sizeof(T) == 4 ? clamp(x, T(-104), T(89)) : clamp(x, T(-746), T(710)));
    return scale(exp_raised(e), e.n);
}

template <class T>
MERCER_INLINE Vec<T> expm1(Vec<T> x) {
    // Below the lower bound the result rounds to -1. 2^(n-1) keeps the largest scale finite;
    // doubling is exact.
    const Vec<T> c = sizeof(T) == 4 ? clamp(x, T(-20), T(89)) : clamp(x, T(-40), T(710));
    const auto [n, first, r, low] = exp_reduce(c);
    const Vec<T> w = fma(r * r, expm1_polynomial(r), low);
    const Vec<T> s = power_of_two(n - Vec<T>(T(1))), t = s - Vec<T>(T(0.5));
    const Vec<T> high = fma(s, r, t);  // the sum t + s·r + s·w: |t| ≥ |s·r| or t = 0
    const Vec<T> lost = (s - t) - Vec<T>(T(0.5));
    const Vec<T> y = high + fma(s, w, fma(s, r, t - high) + lost);
    // A tiny x is its own result; halved and doubled it could lose a bit or the sign of zero.
    return select(abs(x) < Vec<T>(T(0x1p-60)), x, y + y);
}

}  // namespace mercer::MERCER_ISA
