// log and log1p.
//
// Reduction: x = 2^k m with m in [√½, √2), f = m − 1 (exact), log x = k ln 2 + log(1 + f).
// float: log(1 + f) = f + f² (−½ + f P(f)), P minimax of degree 8, relative error 2^-30.3.
// double: with s = f / (2 + f), log(1 + f) = f − (f²/2 − s (f²/2 + R)), R = s² L(s²), L minimax of
// degree 6, 2^-59.5.
// log1p takes k from the rounded 1 + x, and f = a + b with a = 2^-k x, b = 2^-k − 1. The sum is
// exact but for k = 1, where (b − f) + a recovers the rest: the rounding of 1 + x does no harm.
//
// Largest error measured (as in exp.h), ULP: log 0.886 (float), 0.766 (double); log1p 0.982
// (float), 0.835 (double).
#pragma once

#include "engine/simd/math/poly.h"

namespace mercer::MERCER_ISA {

/// k ln 2 + log(1 + f).
MERCER_INLINE Vec<float> log_sum(Vec<float> k, Vec<float> f, Vec<float> low) {
    const Vec<float> p =
        horner(f, -0.5f, 0x1.555548p-2f, -0x1.000008p-2f, 0x1.99a47ap-3f, -0x1.555b92p-3f,
               0x1.233ab8p-3f, -0x1.fc3c88p-4f, 0x1.e6dfep-4f, -0x1.dda796p-4f, 0x1.13ca2cp-4f);
    // 0x1.62e4p-1 has 15 bits: its product with k is exact.
    const Vec<float> y = fma(k, Vec<float>(0x1.7f7d1cp-20f), fma(f * f, p, low));
    return fma(k, Vec<float>(0x1.62e4p-1f), f + y);
}
MERCER_INLINE Vec<double> log_sum(Vec<double> k, Vec<double> f, Vec<double> low) {
    const Vec<double> s = f / (f + Vec<double>(2.0));
    const Vec<double> z = s * s;
    const Vec<double> half = Vec<double>(0.5) * f * f;
    const Vec<double> l = horner(z, 0x1.5555555555593p-1, 0x1.999999997faa9p-2,
                                 0x1.249249421a9f4p-2, 0x1.c71c51e7db8adp-3, 0x1.746645de722dep-3,
                                 0x1.39a1030f6a255p-3, 0x1.2f0cd151275a7p-3);
    const Vec<double> y = fma(s, fma(z, l, half), fma(k, Vec<double>(0x1.ef35793c7673p-45), low));
    return fma(k, Vec<double>(0x1.62e42fefa38p-1), f - (half - y));
}

template <class T>
MERCER_INLINE Vec<T> log(Vec<T> x) {
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
    Vec<T> y = log_sum(k - shift, m - Vec<T>(T(1)), Vec<T>(T(0)));
    if (any(odd)) {
        y = select(x == infinity<T>(), x, y);
        y = select(x == Vec<T>(T(0)), -infinity<T>(), y);
        y = select(x >= Vec<T>(T(0)), y, quiet_nan<T>());
    }
    return y;
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
