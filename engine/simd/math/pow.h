// pow and exp2.
//
// |x|^y = 2^(y log2 |x|) with the logarithm and its product with y as unevaluated sums of two
// numbers. |x| = 2^k m, s = (m − 1) / (m + 1) in two parts, log2 m = s (c0 + s² (c1 + s² (c2 + …)))
// with the leading coefficients and their operations in two parts, the rest in one; the measured
// relative error of the sum is 2^-33.9 (float; two parts up to c1) and 2^-68.7 (double; up to c2).
// y log2 |x| = n + g, r + r' = g ln 2, and the result is 2^n (1 + r + r² P(r)) (1 + r'), P from exp. A power's steps wait
// for one another, and processors see a few vectors ahead: the low parts are joined where they no longer hold up the
// high ones. Zeros, infinities, NaN, subnormal and negative x are put right in a branch that a
// vector of ordinary x skips; all cases are those of C99, Annex F. Exponents 1, 2 and 3 go by products.
//
// Largest error measured, ULP (docs/accuracy.md): float 0.799 (a thousand million pairs), double
// 0.749 (10 million pairs); both with results over the whole range, subnormals included.

#pragma once

#include "engine/simd/math/exp.h"

namespace mercer::MERCER_ISA {

template <class T>
struct PowConstants;
template <>
struct PowConstants<float> {
    static constexpr float c0 = 0x1.715476p1f, c0_low = 0x1.4ae0cp-25f;  // 2 / ln 2
    static constexpr float c1 = 0x1.ec709ep-1f, c1_low = -0x1.d3673p-28f;
    static constexpr float c2 = 0x1.2776c2p-1f;
    static constexpr float y_limit = 0x1p33f, low = -155.0f, high = 130.0f;
    static constexpr float cube_limit = 0x1p41f;
};
template <>
struct PowConstants<double> {
    static constexpr double c0 = 0x1.71547652b82fep1, c0_low = 0x1.777d0ffda0d24p-55;
    static constexpr double c1 = 0x1.ec709dc3a03fdp-1, c1_low = 0x1.d20b86af56b33p-55;
    static constexpr double c2 = 0x1.2776c50ef9bffp-1;
    static constexpr double y_limit = 0x1p66, low = -1080.0, high = 1030.0;
    static constexpr double cube_limit = 0x1p340;
};

/// c3 + c4 z + …
MERCER_INLINE Vec<float> log2_polynomial(Vec<float> z) {
    return horner(z, 0x1.a61aa8p-2f, 0x1.478252p-2f, 0x1.22b674p-2f);
}
MERCER_INLINE Vec<double> log2_polynomial(Vec<double> z) {
    return horner_split(z, 0x1.a61762a7add0dp-2, 0x1.484b13d7d9489p-2, 0x1.0c9a848c6268ap-2,
                        0x1.c68f5ecfd3d95p-3, 0x1.89f1fc432f806p-3, 0x1.5bd4cb9de2b36p-3,
                        0x1.3243ec4340cefp-3, 0x1.50989c8124d59p-3);
}

template <class T>
struct Pair {
    Vec<T> high, low;
};

/// a + b for |a| ≥ |b| (or a = 0), exactly.
template <class T>
MERCER_INLINE Pair<T> quick_sum(Vec<T> a, Vec<T> b) {
    const Vec<T> s = a + b;
    return {s, (a - s) + b};
}
/// a·b to about twice the precision; b.low may come last.
template <class T>
MERCER_INLINE Pair<T> product(Pair<T> a, Pair<T> b) {
    const Vec<T> p = a.high * b.high;
    const Vec<T> e = fma(a.low, b.high, fma(a.high, b.high, -p));
    return {p, fma(a.high, b.low, e)};
}
template <class T>
MERCER_INLINE Pair<T> product(Pair<T> a, Vec<T> b) {
    const Vec<T> p = a.high * b;
    return {p, fma(a.low, b, fma(a.high, b, -p))};
}

/// 2^(n + g + low) for integral n, |g| ≤ ½ and a low so small that its square is nothing; it may come last.
template <class T>
MERCER_INLINE Vec<T> exp2_sum(Vec<T> n, Vec<T> g, Vec<T> low) {
    const Vec<T> ln2(Ln2<T>::high), r = g * ln2, w = r * r * exp_polynomial<true>(r);
    const Vec<T> rest = fma(g, Vec<T>(Ln2<T>::low), fma(g, ln2, -r));
    const Pair<T> sum = quick_sum(Vec<T>(T(1)), r);
    const Vec<T> d = fma(low, ln2, rest);
    return scale(sum.high + ((sum.low + fma(r, d, d)) + fma(w, d, w)), n);  // (1 + r + w) (1 + d)
}
template <class T>
MERCER_INLINE Vec<T> exp2(Vec<T> x) {
    // Beyond these bounds the result is 0 or infinity.
    const Vec<T> c = clamp(x, PowConstants<T>::low, PowConstants<T>::high), n = round_small(c);
    return exp2_sum(n, c - n, Vec<T>(T(0)));
}

/// k + log2 m, m in [√½, √2).
template <class T>
MERCER_INLINE Pair<T> log2_pair(Vec<T> k, Vec<T> m) {
    using C = PowConstants<T>;
    const Vec<T> one(T(1));
    const Vec<T> f = m - one, d = m + one, d_low = m - (d - one);
    const Vec<T> inverse = one / d;
    const Vec<T> q = f * inverse;
    const Vec<T> rest = fma(-q, d_low, fma(-q, d, f));
    const Pair<T> s{q, rest * inverse};
    const Pair<T> z = product(s, s);
    const Vec<T> tail = log2_polynomial(z.high);
    Pair<T> u{z.high * fma(z.high, tail, Vec<T>(C::c2)), Vec<T>(C::c1_low)};
    if constexpr (sizeof(T) == 8) {  // t may be 1074: four more bits of the logarithm pay
        u = product(z, quick_sum(Vec<T>(C::c2), z.high * tail));
        u.low += Vec<T>(C::c1_low);
    }
    Pair<T> sum = quick_sum(Vec<T>(C::c1), u.high);
    sum.low += u.low;
    const Pair<T> w = product(z, sum);
    sum = quick_sum(Vec<T>(C::c0), w.high);
    sum.low += Vec<T>(C::c0_low) + w.low;
    const Pair<T> l = product(s, sum);
    sum = quick_sum(k, l.high);
    sum.low += l.low;
    return sum;
}

/// x^y for normal positive x and y that is not NaN.
template <class T>
MERCER_INLINE Vec<T> pow_positive(Vec<T> m, Vec<T> k, Vec<T> y) {
    using C = PowConstants<T>;
    // A larger |y| overflows or underflows just as well, unless x = 1.
    const Vec<T> e = clamp(y, -C::y_limit, C::y_limit);
    const Pair<T> l = log2_pair(k, m);
    const Pair<T> t = product(l, e);
    const Vec<T> c = clamp(t.high, C::low, C::high);
    const Vec<T> t_low = select(c == t.high, t.low, Vec<T>(T(0)));
    const Vec<T> n = round_small(c);
    return exp2_sum(n, c - n, t_low);
}

/// Whether a is an integer, for a ≥ 0.
template <class T>
MERCER_INLINE Mask<T> is_integer(Vec<T> a) {
    const Vec<T> grid(T(int64_t(1) << Format<T>::mantissa));  // above it every number is one
    return a >= grid || (a + grid) - grid == a;
}

/// The cases of Annex F for x that is not a normal positive number, and for NaN.
template <class T>
MERCER_INLINE Vec<T> pow_special(Vec<T> x, Vec<T> y, Vec<T> p) {
    const Vec<T> zero(T(0)), one(T(1)), a = abs(x), b = abs(y);
    const Mask<T> integer = is_integer(b);
    const Mask<T> odd = integer && !is_integer(b * Vec<T>(T(0.5)));
    const Mask<T> falling = y < zero;
    p = select(a == zero, select(falling, infinity<T>(), zero), p);
    p = select(a == infinity<T>(), select(falling, zero, infinity<T>()), p);
    p = select(odd, as_float(as_int(p) | sign_bit(x)), p);
    p = select(x < zero && !integer && a != infinity<T>(), quiet_nan<T>(), p);
    p = select(is_nan(x) || is_nan(y), quiet_nan<T>(), p);
    return select(x == one || y == zero, one, p);
}

/// x^y by products of y = 2 or 3, else x. The rounding error of x² goes into x³.
template <class T>
MERCER_INLINE Vec<T> pow_product(Vec<T> x, Vec<T> y) {
    const Vec<T> square = x * x, cube = fma(square, x, fma(x, x, -square) * x);
    const Vec<T> p = select(y == Vec<T>(T(3)), cube, select(y == Vec<T>(T(2)), square, x));
    return select(is_nan(x), quiet_nan<T>(), p);
}

/// Every lane goes by its own y, whatever stands beside it.
template <class T>
MERCER_INLINE Vec<T> pow(Vec<T> x, Vec<T> y) {
    const Vec<T> smallest(Format<T>::smallest_normal);
    Mask<T> plain = y == Vec<T>(T(1)) || y == Vec<T>(T(2)) || y == Vec<T>(T(3));
    const Mask<T> odd = !(x >= smallest && x < infinity<T>()) || is_nan(y) || plain;
    Vec<T> a = x, shift(T(0));
    if (any(odd)) {
        a = abs(x);
        // A subnormal cube would be rounded twice, and near the largest one its parts overflow.
        const Vec<T> one(T(1)), limit(PowConstants<T>::cube_limit);
        plain =
            plain && (y < Vec<T>(T(3)) || x == Vec<T>(T(0)) || (a * limit >= one && a <= limit));
        if (!any(!plain)) return pow_product(x, y);
        constexpr int bits = Format<T>::mantissa + 1;
        const Mask<T> small = a < smallest;
        a = select(small, a * Vec<T>(T(int64_t(1) << bits)), a);
        shift = select(small, Vec<T>(T(bits)), shift);
    }
    const auto [m, k] = decompose(a);
    Vec<T> p = pow_positive(m, k - shift, y);
    if (any(odd)) p = select(plain, pow_product(x, y), pow_special(x, y, p));
    return p;
}

}  // namespace mercer::MERCER_ISA
