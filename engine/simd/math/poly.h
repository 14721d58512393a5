// What the elementary functions share: Horner's scheme, clamping, and 2^n as a factor.
//
// All polynomial coefficients under math/ were computed for Mercer with Sollya: `fpminimax`
// (minimax over coefficients already rounded to the format) or, where a weight was needed, `remez`.
// They are hexadecimal, hence exact.
#pragma once

#include "engine/simd/vec.h"

namespace mercer::MERCER_ISA {

/// c0 + x·(c1 + x·(c2 + …)), each step one fma.
template <class T>
MERCER_INLINE Vec<T> horner(Vec<T>, T c0) {
    return Vec<T>(c0);
}
template <class T, class... Rest>
MERCER_INLINE Vec<T> horner(Vec<T> x, T c0, Rest... rest) {
    return fma(x, horner(x, rest...), Vec<T>(c0));
}

/// c0 + c2·z + c4·z² + …
template <class T>
MERCER_INLINE Vec<T> horner_even(Vec<T>, T c0) {
    return Vec<T>(c0);
}
template <class T, class... Rest>
MERCER_INLINE Vec<T> horner_even(Vec<T> z, T c0, T, Rest... rest) {
    if constexpr (sizeof...(rest) == 0)
        return Vec<T>(c0);
    else
        return fma(z, horner_even(z, rest...), Vec<T>(c0));
}
/// The same polynomial in half the steps that wait for one another: even and odd powers apart. For
/// the long ones.
template <class T, class... Rest>
MERCER_INLINE Vec<T> horner_split(Vec<T> x, T c0, Rest... rest) {
    const Vec<T> z = x * x;
    return fma(x, horner_even(z, rest...), horner_even(z, c0, rest...));
}

/// Either of them.
template <bool split, class T, class... Rest>
MERCER_INLINE Vec<T> horner(Vec<T> x, T c0, Rest... rest) {
    if constexpr (split)
        return horner_split(x, c0, rest...);
    else
        return horner(x, c0, rest...);
}

/// x held below `high` or above `low`; NaN stays NaN.
template <class T>
MERCER_INLINE Vec<T> clamp_high(Vec<T> x, T high) {
    return min_or_second(Vec<T>(high), x);
}
template <class T>
MERCER_INLINE Vec<T> clamp_low(Vec<T> x, T low) {
    return max_or_second(Vec<T>(low), x);
}
template <class T>
MERCER_INLINE Vec<T> clamp(Vec<T> x, T low, T high) {
    return clamp_low(clamp_high(x, high), low);
}

/// round(x·c) as a float, rounded once; see round_small for the range.
template <class T>
MERCER_INLINE Vec<T> round_product(Vec<T> x, T c) {
    const Vec<T> magic(Format<T>::round_magic);
    return fma(x, Vec<T>(c), magic) - magic;
}

/// 2^n for an integral n in the normal range.
template <class T>
MERCER_INLINE Vec<T> power_of_two(Vec<T> n) {
    const Vec<T> biased = n + Vec<T>(Format<T>::round_magic + T(Format<T>::bias));
    return as_float(shift_left<Format<T>::mantissa>(as_int(biased)));
}

/// p·2^n rounded once, for |p| < 4 and an integral n that may lead to infinity; to a subnormal number at the cost of more
/// than a hundred cycles on some processors.
template <class T>
MERCER_INLINE Vec<T> scale_normal(Vec<T> p, Vec<T> n) {
#if MERCER_SIMD == MERCER_SIMD_AVX512
    if constexpr (sizeof(T) == 4)
        return _mm512_maskz_scalef_ps(-1, p.v, n.v);
    else
        return _mm512_maskz_scalef_pd(-1, p.v, n.v);
#else
    // 2^n as a product of two normal numbers: the first multiplication is exact, the second rounds.
    constexpr int bits = Format<T>::mantissa;
    const auto biased = as_int(n + Vec<T>(Format<T>::round_magic + T(2 * Format<T>::bias)));
    const auto half = shift_right_logical<1>(biased);
    return p * as_float(shift_left<bits>(half)) * as_float(shift_left<bits>(biased - half));
#endif
}
/// Where 2^n is one normal factor, with room for one of p beside it: |n| up to here.
template <class T>
inline constexpr T near_exponent = T(0.75) * T(Format<T>::bias - 1);
/// p·2^n for |p| < 4 and an integral n, |n| ≤ near_exponent.
template <class T>
MERCER_INLINE Vec<T> scale_near(Vec<T> p, Vec<T> n) {
#if MERCER_SIMD == MERCER_SIMD_AVX512
    return scale_normal(p, n);
#else
    return p * power_of_two(n);
#endif
}
/// p·2^n like scale_normal, at no such cost. Raised by `raise` binary places, subnormal numbers end with the last
/// place of 1, to which they are added: that rounds them.
template <class T>
MERCER_INLINE Vec<T> scale(Vec<T> p, Vec<T> n) {
    constexpr T raise = T(Format<T>::bias - 1);
    if (!any_above(abs(n), Vec<T>(near_exponent<T>))) [[likely]]
        return scale_near(p, n);
    const Vec<T> zero(T(0)), one(T(1)),
        raised = scale_normal(p, clamp(n, T(-2) * raise, T(0)) + Vec<T>(raise)), size = abs(raised);
    const Mask<T> small = size < one;
    const Vec<T> tiny = as_float(as_int(size + one) - as_int(one));
    return select(small, select(raised < zero, -tiny, tiny),
                  scale_normal(p, select(small, zero, n)));
}

/// x = m · 2^k with m in [√½, √2), for normal positive x.
template <class T>
struct Decomposed {
    Vec<T> m, k;
};
template <class T>
MERCER_INLINE Decomposed<T> decompose(Vec<T> x) {
    using Int = typename Vec<T>::Int;
    using F = Format<T>;
    constexpr auto sqrt_half = sizeof(T) == 4 ? 0x3f3504f3ll : 0x3fe6a09e667f3bcdll;
    constexpr auto one = sizeof(T) == 4 ? 0x3f800000ll : 0x3ff0000000000000ll;
    using I = typename Int::Scalar;
    constexpr I fraction = (I(1) << F::mantissa) - 1;
    const Int i = as_int(x) + Int(I(one - sqrt_half));
    const Int magic = as_int(Vec<T>(F::round_magic));
    const Vec<T> k =
        as_float(shift_right_logical<F::mantissa>(i) + magic) - Vec<T>(F::round_magic + T(F::bias));
    return {as_float((i & Int(fraction)) + Int(I(sqrt_half))), k};
}

}  // namespace mercer::MERCER_ISA
