// asin, acos, atan and atan2.
//
// atan2(y, x): θ = atan t with t = min(|x|, |y|) / max(|x|, |y|) ≤ 1, θ = t + t³ A(t²), A minimax of degree
// 9 (float, 2^-28.6) or 19 (double, 2^-55.3); the angle is c ± θ with c = 0, π/2 or π in two parts.
// atan x = atan2(x, 1).
// asin: |x| ≤ ½: x + x³ S(x²), S of degree 5 (float, 2^-30.2) or 12 (double, 2^-58); beyond,
// π/2 − 2 asin s with s = √((1 − |x|)/2), where 1 − |x| is exact. acos x is 2 asin s for x > ½,
// π − 2 asin s for x < −½, and π/2 − asin x between.
//
// Largest errors measured: docs/accuracy.md.
#pragma once

#include "engine/simd/math/quarters.h"
#include "engine/simd/math/trig.h"

namespace mercer::MERCER_ISA {

MERCER_INLINE Vec<float> atan_polynomial(Vec<float> z) {
    return horner(z, -0x1.555556p-2f, 0x1.9999bap-3f, -0x1.24902ep-3f, 0x1.c699d6p-4f,
                  -0x1.6fadcep-4f, 0x1.24a7fp-4f, -0x1.9f3b7ap-5f, 0x1.c8b044p-6f, -0x1.453472p-7f,
                  0x1.b10b34p-10f);
}
MERCER_INLINE Vec<double> atan_polynomial(Vec<double> z) {
    return horner(z, -0x1.5555555555555p-2, 0x1.99999999996bcp-3, -0x1.2492492478c14p-3,
                  0x1.c71c71bc208e7p-4, -0x1.745d1607c082fp-4, 0x1.3b139b3ca0ea2p-4,
                  -0x1.11100ceadbcafp-4, 0x1.e1d0dbb15a93fp-5, -0x1.aebf44db00111p-5,
                  0x1.842b27eecd69cp-5, -0x1.5d281d2038fabp-5, 0x1.337b776721507p-5,
                  -0x1.00c5203887c0ap-5, 0x1.85ab13bd7e5f3p-6, -0x1.ffde0263bfb4cp-7,
                  0x1.14500b3256daep-7, -0x1.ceaa5fb4f8ab4p-9, 0x1.16678b2a4f692p-10,
                  -0x1.a92cbb062787ap-13, 0x1.33d42903fc316p-16);
}
MERCER_INLINE Vec<float> asin_polynomial(Vec<float> z) {
    return horner(z, 0x1.555554p-3f, 0x1.3334cap-4f, 0x1.6d3fa8p-5f, 0x1.ffa0e4p-6f, 0x1.1072cp-6f,
                  0x1.1a5434p-5f);
}
MERCER_INLINE Vec<double> asin_polynomial(Vec<double> z) {
    return horner_split(z, 0x1.5555555555556p-3, 0x1.3333333332dcap-4, 0x1.6db6db6e43f8fp-5,
                        0x1.f1c71c1496becp-6, 0x1.6e8bb309a2f5ap-6, 0x1.1c4d1ad7c257dp-6,
                        0x1.c9d1f2894c834p-7, 0x1.780b68d4d8b9ap-7, 0x1.52e8cf7cd4d95p-7,
                        0x1.604d4694058a4p-8, 0x1.209b73152c94dp-6, -0x1.f143f36b375b8p-7,
                        0x1.daacfc8d82373p-6);
}

/// k·π/2 − (t + p), k = 0, 1, 2, where |t| is 0, at most π/2, or all there is, and |p| small.
template <class T>
MERCER_INLINE Vec<T> quarter_turns_minus(Vec<T> k, Vec<T> t, Vec<T> p) {
    const Vec<T> c = k * Vec<T>(HalfPi<T>::high), v = c - t;
    return v + (((c - v) - t) + fma(k, Vec<T>(HalfPi<T>::middle), -p));
}

template <class T>
constexpr T angle_limit = T(sizeof(T) == 4 ? 0x1p100 : 0x1p1000);
/// The angle of (|x|, |y|), x counted as negative where told.
template <class T>
MERCER_INLINE Vec<T> angle_of(Vec<T> x, Vec<T> y, Mask<T> negative) {
    const Vec<T> zero(T(0)), one(T(1)), two(T(2));
    const Mask<T> steep = y > x;
    const Vec<T> low = select(steep, x, y), high = select(steep, y, x);
    // Of equal numbers, be they 0 or ∞, the quotient is taken as 1, and π/4 is rounded as it should be.
    const Mask<T> same = low == high, origin = same && high == zero;
    const Vec<T> t = select(origin, zero, select(same, one, low / high)), z = t * t;
    const Vec<T> rest = select(origin, zero, Vec<T>(T(-0.21460183660255169038)));  // π/4 − 1
    // What the quotient rounds off, about: d atan t = dt/(1 + t²).
    const Mask<T> middling = high > Vec<T>(1 / angle_limit<T>) && high < Vec<T>(angle_limit<T>);
    const Vec<T> lost = fma(-t, high, low) * rough_inverse(high) * fma(z, Vec<T>(T(-0.5)), one);
    const Vec<T> p =
        select(same, rest, fma(t * z, atan_polynomial(z), select(middling, lost, zero)));
    const Vec<T> k = select(steep, one, select(negative, two, zero));
    // −θ, or θ where the angle is π/2 − θ or π − θ.
    const auto sign =
        sign_bit(select(steep, -one, one) * select(negative, -one, one)) ^ sign_bit(-one);
    return quarter_turns_minus(k, as_float(as_int(t) ^ sign), as_float(as_int(p) ^ sign));
}
template <class T>
MERCER_INLINE Vec<T> atan(Vec<T> x) {
    const Vec<T> one(T(1));
    return copysign(angle_of(one, abs(x), one < one), x);
}
/// As C99, Annex F: ±π to the left of 0, signs of zeros counted; NaN if either is.
template <class T>
MERCER_INLINE Vec<T> atan2(Vec<T> y, Vec<T> x) {
    const Mask<T> negative = copysign(Vec<T>(T(1)), x) < Vec<T>(T(0));
    return copysign(angle_of(abs(x), abs(y), negative), y);
}

/// s + p = asin s, where s = |x|, or √((1 − |x|)/2) where |x| > ½ (`far`).
template <class T>
struct ArcSine {
    Mask<T> far;
    Vec<T> s, p;
    MERCER_INLINE explicit ArcSine(Vec<T> x) {
        const Vec<T> half(T(0.5)), a = abs(x);
        far = a > half;
        const Vec<T> z = select(far, (Vec<T>(T(1)) - a) * half, a * a);
        s = select(far, sqrt(z), a);
        p = s * z * asin_polynomial(z);
    }
};
template <class T>
MERCER_INLINE Vec<T> asin(Vec<T> x) {
    const ArcSine<T> a(x);
    const Vec<T> beyond = quarter_turns_minus(Vec<T>(T(1)), a.s + a.s, a.p + a.p);
    return copysign(select(a.far, beyond, a.s + a.p), x);
}
template <class T>
MERCER_INLINE Vec<T> acos(Vec<T> x) {
    const ArcSine<T> a(x);
    const Vec<T> zero(T(0)), s = select(a.far, a.s + a.s, a.s), p = select(a.far, a.p + a.p, a.p);
    const Vec<T> k = select(a.far, select(x < zero, Vec<T>(T(2)), zero), Vec<T>(T(1)));
    const auto sign = sign_bit(x) ^ sign_bit(select(a.far, -Vec<T>(T(1)), zero));
    return quarter_turns_minus(k, as_float(as_int(s) ^ sign), as_float(as_int(p) ^ sign));
}

}  // namespace mercer::MERCER_ISA
