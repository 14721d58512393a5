// Vec<T> of one lane: the form every formula has on any machine, and in a CUDA kernel.
#pragma once

#include <string.h>

#include <type_traits>

#include "engine/simd/isa.h"

namespace mercer::MERCER_ISA {

template <class T>
struct Vec;

/// The outcome of a comparison, lane by lane.
template <class T>
struct Mask {
    bool v;
    MERCER_INLINE friend Mask operator&&(Mask a, Mask b) { return {a.v && b.v}; }
    MERCER_INLINE friend Mask operator||(Mask a, Mask b) { return {a.v || b.v}; }
    MERCER_INLINE friend Mask operator!(Mask a) { return {!a.v}; }
    /// The same lanes, as the mask of the integer (or floating) type of equal width.
    template <class U>
    MERCER_INLINE Mask<U> as() const {
        static_assert(sizeof(U) == sizeof(T));
        return {v};
    }
};

template <class T>
struct Vec {
    using Scalar = T;
    using Int = Vec<typename IntOf<T>::type>;
    // Integers are added up as what wraps around.
    using W = std::conditional_t<__is_same(T, int32_t), uint32_t,
                                 std::conditional_t<__is_same(T, int64_t), uint64_t, T>>;
    static constexpr int lanes = 1;
    T v;

    Vec() = default;
    MERCER_INLINE Vec(T x) : v(x) {}

    MERCER_INLINE static Vec load(const T* p) { return *p; }
    MERCER_INLINE static Vec load(const T* p, int count, T fill) { return count > 0 ? *p : fill; }
    MERCER_INLINE void store(T* p) const { *p = v; }
    MERCER_INLINE void store(T* p, int count) const {
        if (count > 0) *p = v;
    }
    MERCER_INLINE void stream(T* p) const { *p = v; }

    MERCER_INLINE friend Vec operator+(Vec a, Vec b) { return T(W(a.v) + W(b.v)); }
    MERCER_INLINE friend Vec operator-(Vec a, Vec b) { return T(W(a.v) - W(b.v)); }
    MERCER_INLINE friend Vec operator*(Vec a, Vec b) { return T(W(a.v) * W(b.v)); }
    MERCER_INLINE friend Vec operator/(Vec a, Vec b) { return T(a.v / b.v); }
    MERCER_INLINE friend Vec operator-(Vec a) { return T(-W(a.v)); }
    MERCER_INLINE friend Vec operator&(Vec a, Vec b) { return T(a.v & b.v); }
    MERCER_INLINE friend Vec operator|(Vec a, Vec b) { return T(a.v | b.v); }
    MERCER_INLINE friend Vec operator^(Vec a, Vec b) { return T(a.v ^ b.v); }
    MERCER_INLINE friend Vec operator~(Vec a) { return T(~a.v); }
    MERCER_INLINE friend Mask<T> operator<(Vec a, Vec b) { return {a.v < b.v}; }
    MERCER_INLINE friend Mask<T> operator<=(Vec a, Vec b) { return {a.v <= b.v}; }
    MERCER_INLINE friend Mask<T> operator>(Vec a, Vec b) { return {a.v > b.v}; }
    MERCER_INLINE friend Mask<T> operator>=(Vec a, Vec b) { return {a.v >= b.v}; }
    MERCER_INLINE friend Mask<T> operator==(Vec a, Vec b) { return {a.v == b.v}; }
    MERCER_INLINE friend Mask<T> operator!=(Vec a, Vec b) { return {a.v != b.v}; }
    MERCER_INLINE Vec& operator+=(Vec b) { return *this = *this + b; }
    MERCER_INLINE Vec& operator-=(Vec b) { return *this = *this - b; }
    MERCER_INLINE Vec& operator*=(Vec b) { return *this = *this * b; }
};

template <class To, class From>
MERCER_INLINE To bits(From x) {
    static_assert(sizeof(To) == sizeof(From));
    To y;
    memcpy(&y, &x, sizeof y);
    return y;
}

/// Whether any lane is set.
template <class T>
MERCER_INLINE bool any(Mask<T> m) {
    return m.v;
}

#if defined(__CUDA_ARCH__)
#define MERCER_SCALAR(device, host) device
#else
#define MERCER_SCALAR(device, host) host
#endif
/// a·b + c, rounded once.
MERCER_INLINE Vec<float> fma(Vec<float> a, Vec<float> b, Vec<float> c) {
    return MERCER_SCALAR(__fmaf_rn, __builtin_fmaf)(a.v, b.v, c.v);
}
MERCER_INLINE Vec<double> fma(Vec<double> a, Vec<double> b, Vec<double> c) {
    return MERCER_SCALAR(__fma_rn, __builtin_fma)(a.v, b.v, c.v);
}
MERCER_INLINE Vec<float> sqrt(Vec<float> a) {
    return MERCER_SCALAR(__fsqrt_rn, __builtin_sqrtf)(a.v);
}
MERCER_INLINE Vec<double> sqrt(Vec<double> a) {
    return MERCER_SCALAR(__dsqrt_rn, __builtin_sqrt)(a.v);
}
#undef MERCER_SCALAR

/// The bit pattern as integers, and back.
template <class T>
MERCER_INLINE Vec<typename IntOf<T>::type> as_int(Vec<T> a) {
    return bits<typename IntOf<T>::type>(a.v);
}
MERCER_INLINE Vec<float> as_float(Vec<int32_t> a) { return bits<float>(a.v); }
MERCER_INLINE Vec<double> as_float(Vec<int64_t> a) { return bits<double>(a.v); }

/// Shifts by a constant: left, arithmetic right (keeps the sign), logical right.
template <int n, class T>
MERCER_INLINE Vec<T> shift_left(Vec<T> a) {
    return T(std::make_unsigned_t<T>(a.v) << n);
}
template <int n, class T>
MERCER_INLINE Vec<T> shift_right(Vec<T> a) {
    return T(a.v >> n);
}
template <int n, class T>
MERCER_INLINE Vec<T> shift_right_logical(Vec<T> a) {
    return T(std::make_unsigned_t<T>(a.v) >> n);
}

}  // namespace mercer::MERCER_ISA
