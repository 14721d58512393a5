// log, log1p, log2 and log10.
//
// Reduction: x = 2^k m with m in [√½, √2), f = m − 1 (exact), log x = k ln 2 + log(1 + f).
// float: log(1 + f) = f + f² (−½ + f P(f)), P minimax of degree 8, relative error 2^-30.3.
// double: with s = f / (2 + f), log(1 + f) = f − (f²/2 − s (f²/2 + R)), R = s² L(s²), L minimax of
// degree 6, 2^-59.5.
// log1p takes k from the rounded 1 + x, and f = a + b with a = 2^-k x, b = 2^-k − 1. The sum is
// exact but for k = 1, where (b − f) + a recovers the rest: the rounding of 1 + x does no harm.
// log2 and log10: k log_b 2 + (f + w)/ln b, where w = log(1 + f) − f, with the product f/ln b in two parts and the
// roundings of the sum kept.
//
// Largest error measured (as in exp.h), ULP: log 0.886 (float), 0.766 (double); log1p 0.982
// (float), 0.835 (double).
#pragma once

#include "engine/simd/math/poly.h"

namespace mercer::MERCER_ISA {

/// (log(1 + f) − f)/f², to a float's precision, and L(s²).
template <class T>
MERCER_INLINE Vec<T> short_log_polynomial(Vec<T> f) {
    return horner(f, T(-0.5), T(0x1.555548p-2), T(-0x1.000008p-2), T(0x1.99a47ap-3),
                  T(-0x1.555b92p-3), T(0x1.233ab8p-3), T(-0x1.fc3c88p-4), T(0x1.e6dfep-4),
                  T(-0x1.dda796p-4), T(0x1.13ca2cp-4));
}
MERCER_INLINE Vec<float> log_polynomial(Vec<float> f) { return short_log_polynomial(f); }
MERCER_INLINE Vec<double> log_polynomial(Vec<double> z) {
    return horner(z, 0x1.5555555555593p-1, 0x1.999999997faa9p-2, 0x1.249249421a9f4p-2,
                  0x1.c71c51e7db8adp-3, 0x1.746645de722dep-3, 0x1.39a1030f6a255p-3,
                  0x1.2f0cd151275a7p-3);
}

/// k ln 2 + log(1 + f).
MERCER_INLINE Vec<float> log_sum(Vec<float> k, Vec<float> f, Vec<float> low) {
    const Vec<float> p = log_polynomial(f);
    // 0x1.62e4p-1 has 15 bits: its product with k is exact.
    const Vec<float> y = fma(k, Vec<float>(0x1.7f7d1cp-20f), fma(f * f, p, low));
    return fma(k, Vec<float>(0x1.62e4p-1f), f + y);
}
MERCER_INLINE Vec<double> log_sum(Vec<double> k, Vec<double> f, Vec<double> low) {
    const Vec<double> s = f / (f + Vec<double>(2.0));
    const Vec<double> z = s * s;
    const Vec<double> half = Vec<double>(0.5) * f * f;
    const Vec<double> l = log_polynomial(z);
    const Vec<double> y = fma(s, fma(z, l, half), fma(k, Vec<double>(0x1.ef35793c7673p-45), low));
    return fma(k, Vec<double>(0x1.62e42fefa38p-1), f - (half - y));
}

/// sum(k, f) for x = 2^k (1 + f), subnormal ones too; what else there is put right.
template <class T, class F>
MERCER_INLINE Vec<T> any_logarithm(Vec<T> x, F sum) {
    const Mask<T> usual = x >= Vec<T>(Format<T>::smallest_normal) && x < infinity<T>();
    const Mask<T> odd = !usual;
    Vec<T> normal = x, shift(T(0));
    if (any(odd)) {
        const Mask<T> small = x < Vec<T>(Format<T>::smallest_normal);
        constexpr int bits = Format<T>::mantissa + 1;
        normal = select(small, x * Vec<T>(T(int64_t(1) << bits)), x);
        shift = select(small, Vec<T>(T(bits)), shift);
    }
    const auto [m, k] = decompose(normal);
    Vec<T> y = sum(k - shift, m - Vec<T>(T(1)));
    if (any(odd)) {
        y = select(x == infinity<T>(), x, y);
        y = select(x == Vec<T>(T(0)), -infinity<T>(), y);
        y = select(x >= Vec<T>(T(0)), y, quiet_nan<T>());
    }
    return y;
}
template <class T>
MERCER_INLINE Vec<T> log(Vec<T> x) {
    return any_logarithm(
        x, [](Vec<T> k, Vec<T> f) MERCER_STEP { return log_sum(k, f, Vec<T>(T(0))); });
}
/// In double lanes, to the precision of T.
template <class T>
MERCER_INLINE Vec<double> log_for(Vec<double> x) {
    if constexpr (sizeof(T) == 8)
        return log(x);
    else
        return any_logarithm(x, [](Vec<double> k, Vec<double> f) MERCER_STEP {
            return fma(k, Vec<double>(0x1.62e42fefa39efp-1),
                       fma(f * f, short_log_polynomial(f), f));
        });
}

/// log(1 + f) − f.
MERCER_INLINE Vec<float> log_rest(Vec<float> f) { return f * f * log_polynomial(f); }
MERCER_INLINE Vec<double> log_rest(Vec<double> f) {
    const Vec<double> s = f / (f + Vec<double>(2.0)), z = s * s, half = Vec<double>(0.5) * f * f;
    return fma(s, fma(z, log_polynomial(z), half), -half);
}
/// log x to the base b: `unit` is 1/ln b and `two` log_b 2, both in two parts, of which two.high times any exponent
/// is exact.
template <class T>
struct Base {
    T unit, unit_low, two, two_low;
};
template <class T>
MERCER_INLINE Vec<T> log_to(Base<T> b, Vec<T> x) {
    return any_logarithm(x, [&](Vec<T> k, Vec<T> f) MERCER_STEP {
        const Vec<T> unit(b.unit), w = log_rest(f), t = f * unit;
        Vec<T> rest = fma(f, Vec<T>(b.unit_low), fma(f, unit, -t));
        rest = fma(w, unit, fma(k, Vec<T>(b.two_low), rest));
        const Vec<T> high = k * Vec<T>(b.two), s = high + t;  // |high| ≥ |t| or high = 0
        return s + (((high - s) + t) + rest);
    });
}
MERCER_INLINE Vec<float> log2(Vec<float> x) {
    return log_to(Base<float>{0x1.715476p0f, 0x1.4ae0cp-26f, 0x1p0f, 0x0p0f}, x);
}
MERCER_INLINE Vec<double> log2(Vec<double> x) {
    return log_to(Base<double>{0x1.71547652b82fep0, 0x1.777d0ffda0d24p-56, 0x1p0, 0x0p0}, x);
}
MERCER_INLINE Vec<float> log10(Vec<float> x) {
    return log_to(Base<float>{0x1.bcb7b2p-2f, -0x1.5b235ep-27f, 0x1.3442p-2f, -0x1.95ec1p-19f}, x);
}
MERCER_INLINE Vec<double> log10(Vec<double> x) {
    return log_to(Base<double>{0x1.bcb7b1526e50ep-2, 0x1.95355baaafad3p-57, 0x1.34413509f78p-2,
                               0x1.fef311f12b358p-46},
                  x);
}
template <class T>
MERCER_INLINE Vec<T> log1p(Vec<T> x) {
    using Int = typename Vec<T>::Int;
    const Vec<T> one(T(1));
    const Mask<T> odd = !(x > -one && x < infinity<T>());
    const Vec<T> k = decompose(x + one).k;
    const Int exponent = shift_left<Format<T>::mantissa>(round_to_int(k));
    const Vec<T> four = as_float(as_int(Vec<T>(T(4))) - exponent);  // 4·2^-k is normal for every k
    const Vec<T> a = as_float(as_int(x) - exponent), b = fma(Vec<T>(T(0.25)), four, -one);
    const Vec<T> f = a + b;
    Vec<T> y = log_sum(k, f, (b - f) + a);
    y = as_float(as_int(y) | sign_bit(x));  // log1p(-0) is -0
    if (any(odd)) {
        y = select(x == infinity<T>(), x, y);
        y = select(x == -one, -infinity<T>(), y);
        y = select(x >= -one, y, quiet_nan<T>());
    }
    return y;
}

}  // namespace mercer::MERCER_ISA
