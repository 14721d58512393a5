// Vec<T>, T = float, double, int32_t, int64_t: the registers of one instruction set, and the few
// helpers that are the same for all. Algorithms above it (math/, dual.h, engine/cpu) are written
// once.
#pragma once

#include "engine/simd/isa.h"
#include "engine/simd/larger.h"

#if MERCER_SIMD == MERCER_SIMD_AVX512
#include "engine/simd/avx512.h"
#elif MERCER_SIMD == MERCER_SIMD_AVX2
#include "engine/simd/avx2.h"
#elif MERCER_SIMD == MERCER_SIMD_NEON
#include "engine/simd/neon.h"
#else
#include "engine/simd/scalar.h"
#endif
#include "engine/simd/vector.h"

namespace mercer::MERCER_ISA {

/// Bits that make up a floating format.
template <class T>
struct Format;
template <>
struct Format<float> {
    static constexpr int mantissa = 23, bias = 127;
    static constexpr int32_t sign = INT32_MIN, infinity = 0x7f800000, quiet_nan = 0x7fc00000;
    static constexpr float round_magic = 12582912.0f;  // 1.5 · 2^23
    static constexpr float smallest_normal = 1.17549435e-38f;
};
template <>
struct Format<double> {
    static constexpr int mantissa = 52, bias = 1023;
    static constexpr int64_t sign = INT64_MIN, infinity = 0x7ff0000000000000,
                             quiet_nan = 0x7ff8000000000000;
    static constexpr double round_magic = 6755399441055744.0;  // 1.5 · 2^52
    static constexpr double smallest_normal = 2.2250738585072014e-308;
};

template <class T>
MERCER_INLINE Vec<T> infinity() {
    return as_float(Vec<typename IntOf<T>::type>(Format<T>::infinity));
}
template <class T>
MERCER_INLINE Vec<T> quiet_nan() {
    return as_float(Vec<typename IntOf<T>::type>(Format<T>::quiet_nan));
}

template <class T>
concept WholeNumber = (T(0.5) == T(0));
/// Of the lowest number itself.
template <WholeNumber T>
MERCER_INLINE Vec<T> abs(Vec<T> a) {
    return select(a < Vec<T>(T(0)), -a, a);
}
template <class T>
MERCER_INLINE Vec<T> abs(Vec<T> a) {
    return as_float(as_int(a) & Vec<typename IntOf<T>::type>(~Format<T>::sign));
}
/// The sign bit of a, all other bits zero.
template <class T>
MERCER_INLINE typename Vec<T>::Int sign_bit(Vec<T> a) {
    return as_int(a) & typename Vec<T>::Int(Format<T>::sign);
}
/// |a| with the sign of b.
template <class T>
MERCER_INLINE Vec<T> copysign(Vec<T> a, Vec<T> b) {
    return as_float(as_int(abs(a)) | sign_bit(b));
}
template <class T>
MERCER_INLINE Mask<T> is_nan(Vec<T> a) {
    return a != a;
}
/// a where it is the larger (smaller), else b, so where either is NaN.
template <class T>
MERCER_INLINE Vec<T> max_or_second(Vec<T> a, Vec<T> b) {
    return native::larger(a.v, b.v);
}
template <class T>
MERCER_INLINE Vec<T> min_or_second(Vec<T> a, Vec<T> b) {
    return native::smaller(a.v, b.v);
}
template <WholeNumber T>
MERCER_INLINE Vec<T> maximum(Vec<T> a, Vec<T> b) {
    return select(a < b, b, a);
}
template <WholeNumber T>
MERCER_INLINE Vec<T> minimum(Vec<T> a, Vec<T> b) {
    return select(b < a, b, a);
}
/// The larger (smaller); NaN if either is. Of two equal values the first, of two NaN the second.
template <class T>
MERCER_INLINE Vec<T> maximum(Vec<T> a, Vec<T> b) {
    return native::or_nan(native::larger(b.v, a.v), b.v);
}
template <class T>
MERCER_INLINE Vec<T> minimum(Vec<T> a, Vec<T> b) {
    return native::or_nan(native::smaller(b.v, a.v), b.v);
}
/// Nearest integer, ties to even, for |a| < 2^(mantissa - 1); the integer itself (`round_to_int`)
/// or as a float.
template <class T>
MERCER_INLINE Vec<T> round_small(Vec<T> a) {
    return (a + Vec<T>(Format<T>::round_magic)) - Vec<T>(Format<T>::round_magic);
}
/// The largest integer up to a, for the same a.
MERCER_INLINE Vec<float> floor_small(Vec<float> a) {
#if MERCER_SIMD == MERCER_SIMD_SCALAR
    const Vec<float> near = round_small(a);
    return select(near > a, near - Vec<float>(1.0f), near);
#else
    return native::floor(a.v);
#endif
}
template <class T>
MERCER_INLINE typename Vec<T>::Int round_to_int(Vec<T> a) {
    const Vec<T> magic(Format<T>::round_magic);
    return as_int(a + magic) - as_int(magic);
}
/// An integer with |n| < 2^(mantissa - 1) as a float, exactly.
MERCER_INLINE Vec<float> to_float(Vec<int32_t> n) {
    const Vec<float> magic(Format<float>::round_magic);
    return as_float(n + as_int(magic)) - magic;
}
MERCER_INLINE Vec<double> to_float(Vec<int64_t> n) {
    const Vec<double> magic(Format<double>::round_magic);
    return as_float(n + as_int(magic)) - magic;
}

/// After Vec::stream and before another thread is told: orders what went past the caches.
MERCER_INLINE void stream_fence() {
#if MERCER_SIMD == MERCER_SIMD_AVX512 || MERCER_SIMD == MERCER_SIMD_AVX2
    _mm_sfence();
#endif
}

/// Whether V carries a derivative; a plain Vec does not.
template <class T>
MERCER_INLINE Vec<T> primal(Vec<T> a) {
    return a;
}

}  // namespace mercer::MERCER_ISA
