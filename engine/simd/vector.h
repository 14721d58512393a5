// Vec<T> over one register: the compiler's vector type (GCC, Clang) or, in scalar.h, a number. These give + - * / & | and
// comparisons; what they lack (fused multiply-add, square root, partial loads) comes from scalar.h, avx2.h, avx512.h or
// neon.h, as `native::`.
#pragma once

#include "engine/simd/isa.h"

namespace mercer::MERCER_ISA {

template <class T>
struct Vec;

/// The outcome of a comparison, lane by lane: all ones or all zeros; of a number, a bool.
template <class T>
struct Mask {
    using Register = native::MaskRegister<T>;
    Register v;
    MERCER_INLINE friend Mask operator&&(Mask a, Mask b) { return {a.v & b.v}; }
    MERCER_INLINE friend Mask operator||(Mask a, Mask b) { return {a.v | b.v}; }
    MERCER_INLINE friend Mask operator!(Mask a) { return {~a.v}; }
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
    using Register = native::Register<T>;
    using W = native::Wrapping<T>;
    using Int = Vec<typename IntOf<T>::type>;
    static constexpr int lanes = int(sizeof(Register) / sizeof(T));
    Register v;

    Vec() = default;
    MERCER_INLINE Vec(Register r) : v(r) {}
    MERCER_INLINE Vec(T x) requires(!__is_same(T, Register))
        : v(x - Register{}) {}  // the compiler's idiom for a broadcast

    MERCER_INLINE static Vec load(const T* p) { return native::load(p); }
    /// The first `count` lanes from p, the rest `fill`; memory beyond is not touched. 0 <= count < 256: of more than lanes, all.
    MERCER_INLINE static Vec load(const T* p, int count, T fill) {
        return native::load(p, count, Vec(fill).v);
    }
    MERCER_INLINE void store(T* p) const { native::store(p, v); }
    MERCER_INLINE void store(T* p, int count) const { native::store(p, count, v); }
    /// Past the caches; p aligned to the register.
    MERCER_INLINE void stream(T* p) const { native::stream(p, v); }

    MERCER_INLINE friend Vec operator+(Vec a, Vec b) { return Register(W(a.v) + W(b.v)); }
    MERCER_INLINE friend Vec operator-(Vec a, Vec b) { return Register(W(a.v) - W(b.v)); }
    MERCER_INLINE friend Vec operator*(Vec a, Vec b) { return Register(W(a.v) * W(b.v)); }
    MERCER_INLINE friend Vec operator/(Vec a, Vec b) { return a.v / b.v; }
    MERCER_INLINE friend Vec operator-(Vec a) { return Register(-W(a.v)); }
    MERCER_INLINE friend Vec operator&(Vec a, Vec b) { return a.v & b.v; }
    MERCER_INLINE friend Vec operator|(Vec a, Vec b) { return a.v | b.v; }
    MERCER_INLINE friend Vec operator^(Vec a, Vec b) { return a.v ^ b.v; }
    MERCER_INLINE friend Vec operator~(Vec a) { return ~a.v; }
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

/// m ? a : b in every lane.
template <class T>
MERCER_INLINE Vec<T> select(Mask<T> m, Vec<T> a, Vec<T> b) {
    return m.v ? a.v : b.v;
}
/// Whether any lane is set.
template <class T>
MERCER_INLINE bool any(Mask<T> m) {
    return native::any(m.v);
}
/// Whether a > b in any lane. AVX-512 compares into a mask register; by way of a Mask the compiler fills another
/// register from it, and tests that.
template <class T>
MERCER_INLINE bool any_above(Vec<T> a, Vec<T> b) {
#if MERCER_SIMD == MERCER_SIMD_AVX512
    return native::above(a.v, b.v) != 0;
#else
    return any(a > b);
#endif
}

/// a·b + c, rounded once.
MERCER_INLINE Vec<float> fma(Vec<float> a, Vec<float> b, Vec<float> c) {
    return native::fma(a.v, b.v, c.v);
}
MERCER_INLINE Vec<double> fma(Vec<double> a, Vec<double> b, Vec<double> c) {
    return native::fma(a.v, b.v, c.v);
}
MERCER_INLINE Vec<float> sqrt(Vec<float> a) { return native::sqrt(a.v); }
MERCER_INLINE Vec<double> sqrt(Vec<double> a) { return native::sqrt(a.v); }

/// The bit pattern as integers, and back.
template <class T>
MERCER_INLINE Vec<typename IntOf<T>::type> as_int(Vec<T> a) {
    return native::as<typename IntOf<T>::type>(a.v);
}
MERCER_INLINE Vec<float> as_float(Vec<int32_t> a) { return native::as<float>(a.v); }
MERCER_INLINE Vec<double> as_float(Vec<int64_t> a) { return native::as<double>(a.v); }

/// Shifts by a constant; zeros come in.
template <int n, class T>
MERCER_INLINE Vec<T> shift_left(Vec<T> a) {
    return native::as<T>(native::as<std::make_unsigned_t<T>>(a.v) << n);
}
template <int n, class T>
MERCER_INLINE Vec<T> shift_right_logical(Vec<T> a) {
    return native::as<T>(native::as<std::make_unsigned_t<T>>(a.v) >> n);
}

}  // namespace mercer::MERCER_ISA
