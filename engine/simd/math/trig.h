// sin, cos, sincos and tan.
//
// Reduction: |x| = n π/2 + r + r', |r| ≤ π/4 + a little, with π/2 in three parts. x − n·c1 is exact
// by fma (common grid); the rounding errors of n·c2 and of its subtraction are recovered into r',
// with n·c3. Beyond 2^16 (float) or 2^30 (double) the product of the significand with 96 or 192
// bits of 2/π is formed in integers (Payne and Hanek): a rare path, taken lane by lane.
// sin r = r + (r' + r³ S(r²)), cos r = 1 + z (−½ + z C(z)) with z = (r + r')²; S, C minimax: float
// degrees 2 and 2 (2^-27.9, 2^-32.8), double 5 and 5 (2^-57.7, 2^-63.8).
// tan r = r + r³ T(r²), T of degree 6 (float, 2^-27.4) or 14 (double, 2^-57.4), in two parts; in odd quadrants
// −1/tan r.
//
// Largest error measured (as in exp.h), ULP: sin 0.884 (float), 0.860 (double); cos 0.883
// (float), 0.867 (double).
#pragma once

#include "engine/simd/math/poly.h"

namespace mercer::MERCER_ISA {

/// The quadrant (its two low bits count) and the two parts of the reduced argument.
template <class T>
struct Angle {
    typename Vec<T>::Int quadrant;
    Vec<T> r, low;
};

template <class T>
struct HalfPi;
template <>
struct HalfPi<float> {
    static constexpr float high = 0x1.921fb6p0f, middle = -0x1.777a5cp-25f, low = -0x1.ee59dap-50f;
    static constexpr float inverse = 0x1.45f306p-1f, limit = 0x1p16f;
};
template <>
struct HalfPi<double> {
    static constexpr double high = 0x1.921fb54442d18p0, middle = 0x1.1a62633145c07p-54;
    static constexpr double low = -0x1.f1976b7ed8fbcp-110;
    static constexpr double inverse = 0x1.45f306dc9c883p-1, limit = 0x1p30;
};

/// For one x ≥ 2^16 (float) or 2^30 (double): n, and x·2/π − n as high + low; 0 and NaN for infinity and NaN, of no meaning
/// below. Float without branches, the fraction cut after 62 bits: no float's begins with more than 30 alike.
MERCER_INLINE int32_t reduce_huge(float x, float& high, float& low) {
    // 32 bits of 2/π each, a byte further on from one to the next.
    static constexpr uint32_t two_over_pi[] = {
        0x000000a2, 0x0000a2f9, 0x00a2f983, 0xa2f9836e, 0xf9836e4e, 0x836e4e44,
        0x6e4e4415, 0x4e441529, 0x441529fc, 0x1529fc27, 0x29fc2757, 0xfc2757d1,
        0x2757d1f5, 0x57d1f534, 0xd1f534dd, 0xf534ddc0, 0x34ddc0db, 0xddc0db62,
        0xc0db6295, 0xdb629599, 0x6295993c, 0x95993c43, 0x993c4390, 0x3c439041};
    uint32_t i;
    __builtin_memcpy(&i, &x, sizeof i);
    const uint32_t* const words = two_over_pi + (i >> 26 & 15);
    const uint32_t significand = ((i & 0x7fffff) | 0x800000) << (i >> 23 & 7);
    uint64_t product = (uint64_t(significand * words[0]) << 32) + uint64_t(significand) * words[4] +
                       (uint64_t(significand) * words[8] >> 32);
    // It has 62 bits right of the point; the nearest integer is the quadrant.
    const uint64_t quadrant = (product + (uint64_t(1) << 61)) >> 62;
    const double fraction = double(int64_t(product - (quadrant << 62))) * 0x1p-62;
    high = float(fraction) + (x - x);
    low = float(fraction - double(high));
    return x - x == 0 ? int32_t(quadrant) : 0;
}
MERCER_INLINE int64_t reduce_huge(double x, double& high, double& low) {
    high = low = x - x;
    if (!(x >= HalfPi<double>::limit && high == 0)) return 0;
    // 2/π from 64 bits left of the point on.
    static constexpr uint64_t two_over_pi[] = {
        0x0000000000000000, 0xa2f9836e4e441529, 0xfc2757d1f534ddc0, 0xdb6295993c439041,
        0xfe5163abdebbc561, 0xb7246e3a424dd2e0, 0x06492eea09d1921c, 0xfe1deb1cb129a73e,
        0xe88235f52ebb4484, 0xe99c7026b45f7e41, 0x3991d639835339f4, 0x9c845f8bbdf9283b,
        0x1ff897ffde05980f, 0xef2f118b5a0a6d1f, 0x6d367ecf27cb09b7, 0x4f463f669e5fea2d,
        0x7527bac7ebe5f17b, 0x3d0739f78a5292ea, 0x6bfb5fb11f8d5d08, 0x56033046fc7b6bab};
    __extension__ typedef unsigned __int128 Wide;
    constexpr int digits = Format<double>::mantissa;
    uint64_t i;
    __builtin_memcpy(&i, &x, sizeof i);
    const uint64_t significand = (i & ((uint64_t(1) << digits) - 1)) | uint64_t(1) << digits;
    const int exponent = int(i >> digits) - Format<double>::bias - digits;
    // The 192 bits of 2/π from weight 2^(1 - exponent) on; those before it add multiples of 4 to
    // the quotient.
    const int start = exponent - 2 + 64, word = start / 64, shift = start % 64;
    uint64_t window[3];
    for (int j = 0; j < 3; ++j) {
        window[j] = two_over_pi[word + j] << shift;
        if (shift != 0) window[j] |= two_over_pi[word + j + 1] >> (64 - shift);
    }
    const Wide lowest = Wide(significand) * window[2];
    const Wide middle = Wide(significand) * window[1] + uint64_t(lowest >> 64);
    uint64_t top = significand * window[0] + uint64_t(middle >> 64);
    // top has 62 bits right of the point; the nearest integer is the quadrant, the rest is the
    // signed fraction.
    const int quadrant = int((top + (uint64_t(1) << 61)) >> 62);
    top -= uint64_t(quadrant) << 62;
    Wide fraction = Wide(top) << 64 | uint64_t(middle);
    const bool negative = int64_t(top) < 0;
    if (negative) fraction = -fraction;
    // In pieces that the format holds exactly, summed from the smallest.
    constexpr int piece = 42, count = 3;
    double factor = 0x1p-124;
    for (int j = 1; j <= count; ++j) {
        const int below = 128 - piece * (count + 1 - j);
        const double part =
            double(int64_t(uint64_t(fraction >> below) & ((uint64_t(1) << piece) - 1))) * factor;
        const double sum = part + high;
        low += high - (sum - part);
        high = sum;
        factor *= 0x1p42;
    }
    if (negative) {
        high = -high;
        low = -low;
    }
    return quadrant;
}

/// Replaces the lanes of `a` where x ≥ limit; infinity and NaN give NaN.
template <class T>
MERCER_INLINE void reduce_huge_lanes(Vec<T> x, Mask<T> huge, Angle<T>& a) {
    using Int = typename Vec<T>::Int;
    constexpr int lanes = Vec<T>::lanes;
    T in[lanes], high[lanes], low[lanes];
    typename Int::Scalar quadrant[lanes];
    x.store(in);
    for (int i = 0; i < lanes; ++i) quadrant[i] = reduce_huge(in[i], high[i], low[i]);
    const Vec<T> h = Vec<T>::load(high), c(HalfPi<T>::high);
    const Vec<T> r = h * c;
    Vec<T> l = fma(h, c, -r);
    l = fma(h, Vec<T>(HalfPi<T>::middle), l);
    l = fma(Vec<T>::load(low), c, l);
    const auto lanes_huge = huge.template as<typename Int::Scalar>();
    a.quadrant = select(lanes_huge, Int::load(quadrant), a.quadrant);
    a.r = select(huge, r, a.r);
    a.low = select(huge, l, a.low);
}

/// x ≥ 0 or NaN.
template <class T>
MERCER_INLINE Angle<T> reduce_angle(Vec<T> x) {
    using H = HalfPi<T>;
    const Vec<T> magic(Format<T>::round_magic);
    const Vec<T> rounded = fma(x, Vec<T>(H::inverse), magic);
    const Vec<T> n = rounded - magic;
    const Vec<T> first = fma(n, Vec<T>(-H::high), x);
    const Vec<T> product = n * Vec<T>(H::middle);
    const Vec<T> r = first - product;
    Vec<T> low = (first - r) - product;
    low -= fma(n, Vec<T>(H::middle), -product);
    low = fma(n, Vec<T>(-H::low), low);
    Angle<T> a{as_int(rounded), r, low};
    const Mask<T> huge = !(x < Vec<T>(H::limit));
    if (any(huge)) reduce_huge_lanes(x, huge, a);
    return a;
}

/// S with sin r = r + r³ S(r²), and C with cos r = 1 + z (−½ + z C(z)), z = r².
MERCER_INLINE Vec<float> sin_polynomial(Vec<float> z) {
    return horner(z, -0x1.555544p-3f, 0x1.1106d6p-7f, -0x1.992462p-13f);
}
MERCER_INLINE Vec<double> sin_polynomial(Vec<double> z) {
    return horner(z, -0x1.5555555555547p-3, 0x1.111111110f5cbp-7, -0x1.a01a019bbeecdp-13,
                  0x1.71de3531b3de8p-19, -0x1.ae5e3040063a2p-26, 0x1.5d83837e9da9bp-33);
}
MERCER_INLINE Vec<float> cos_polynomial(Vec<float> z) {
    return horner(z, -0.5f, 0x1.55554ap-5f, -0x1.6c0c1ep-10f, 0x1.99e334p-16f);
}
MERCER_INLINE Vec<double> cos_polynomial(Vec<double> z) {
    return horner(z, -0.5, 0x1.555555555554ap-5, -0x1.6c16c16c14df7p-10, 0x1.a01a019c5abd9p-16,
                  -0x1.27e4f7cbccee6p-22, 0x1.1ee9c217a6ea6p-29, -0x1.8f99257515d56p-37);
}

/// sin and cos of the reduced argument.
template <class T>
MERCER_INLINE void sincos_reduced(const Angle<T>& a, Vec<T>& s, Vec<T>& c) {
    const Vec<T> z = fma(a.r, a.r, a.r * (a.low + a.low));
    s = a.r + fma(a.r * z, sin_polynomial(z), a.low);
    c = fma(z, cos_polynomial(z), Vec<T>(T(1)));
}

/// Whether the quadrant is odd, and bit 1 of it at the place of the sign.
template <class Int>
MERCER_INLINE auto odd_quadrant(Int quadrant) {
    using I = typename Int::Scalar;
    return (quadrant & Int(I(1))) != Int(I(0));
}
template <class Int>
MERCER_INLINE Int quadrant_sign(Int quadrant) {
    using I = typename Int::Scalar;
    return shift_left<int(8 * sizeof(I)) - 2>(quadrant & Int(I(2)));
}

template <class T>
MERCER_INLINE void sincos(Vec<T> x, Vec<T>& sine, Vec<T>& cosine) {
    using Int = typename Vec<T>::Int;
    const Angle<T> a = reduce_angle(abs(x));
    Vec<T> s, c;
    sincos_reduced(a, s, c);
    const Mask<T> odd = odd_quadrant(a.quadrant).template as<T>();
    const Int next = a.quadrant + Int(typename Int::Scalar(1));
    sine = as_float(as_int(select(odd, c, s)) ^ quadrant_sign(a.quadrant) ^ sign_bit(x));
    cosine = as_float(as_int(select(odd, s, c)) ^ quadrant_sign(next));
}
template <class T>
MERCER_INLINE Vec<T> sin(Vec<T> x) {
    Vec<T> s, c;
    sincos(x, s, c);
    return s;
}
template <class T>
MERCER_INLINE Vec<T> cos(Vec<T> x) {
    Vec<T> s, c;
    sincos(x, s, c);
    return c;
}

/// T with tan r = r + r³ T(r²).
MERCER_INLINE Vec<float> tan_polynomial(Vec<float> z) {
    return horner(z, 0x1.555556p-2f, 0x1.111056p-3f, 0x1.ba623ep-5f, 0x1.61536p-6f, 0x1.4c9e92p-7f,
                  0x1.d45c2ap-11f, 0x1.06e8bap-8f);
}
MERCER_INLINE Vec<double> tan_polynomial(Vec<double> z) {
    return horner_split(z, 0x1.5555555555556p-2, 0x1.1111111110f4fp-3, 0x1.ba1ba1ba4383bp-5,
                        0x1.664f48763ab7dp-6, 0x1.226e3786a9b0fp-7, 0x1.d6d35bc35bec5p-9,
                        0x1.7dab9636c19b2p-10, 0x1.34f3068df2a8fp-11, 0x1.fc60b0e2c8763p-13,
                        0x1.6b8e1e5981136p-14, 0x1.0459a4b54e0f1p-14, -0x1.4b953bec7a369p-16,
                        0x1.732fc0b035ddbp-15, -0x1.76dadca99b82ap-16, 0x1.3c1a2672febe7p-17);
}
template <class T>
MERCER_INLINE Vec<T> tan(Vec<T> x) {
    const Vec<T> one(T(1));
    const Angle<T> a = reduce_angle(abs(x));
    const Vec<T> z = a.r * a.r, rest = a.r * z * tan_polynomial(z), t = a.r + rest;
    const Vec<T> low = ((a.r - t) + rest) + a.low * fma(t, t, one);  // tan' = 1 + tan²
    Vec<T> y = t + low;
    const Mask<T> odd = odd_quadrant(a.quadrant).template as<T>();
    if (any(odd)) {
        const Vec<T> left = (t - y) + low, q = -one / y;  // near a pole low is no small part of t
        y = select(odd, fma(q, fma(q, left, fma(q, y, one)), q), y);
    }
    return as_float(as_int(y) ^ sign_bit(x));
}

}  // namespace mercer::MERCER_ISA
