// Dual numbers a + ε·d, ε² = 0: a formula evaluated on Dual<V> yields its value and its exact
// directional derivative. Dual<Dual<V>> yields second derivatives. Every function that a formula
// may call has its rule here, once.
#pragma once

#include "engine/simd/math.h"
#include "engine/simd/vec.h"

namespace mercer::MERCER_ISA {

template <class V>
struct Dual {
    using Scalar = typename V::Scalar;
    V v;  // value
    V d;  // derivative

    Dual() = default;
    MERCER_INLINE Dual(V value) : v(value), d(Scalar(0)) {}
    MERCER_INLINE Dual(V value, V derivative) : v(value), d(derivative) {}
    MERCER_INLINE Dual(Scalar constant) requires(!__is_same(V, Scalar))
        : v(constant), d(Scalar(0)) {}

    MERCER_INLINE friend Dual operator+(Dual a, Dual b) { return {a.v + b.v, a.d + b.d}; }
    MERCER_INLINE friend Dual operator-(Dual a, Dual b) { return {a.v - b.v, a.d - b.d}; }
    MERCER_INLINE friend Dual operator*(Dual a, Dual b) {
        return {a.v * b.v, a.d * b.v + a.v * b.d};
    }
    MERCER_INLINE friend Dual operator/(Dual a, Dual b) {
        const V q = a.v / b.v;
        return {q, (a.d - q * b.d) / b.v};
    }
    MERCER_INLINE friend Dual operator-(Dual a) { return {-a.v, -a.d}; }
    MERCER_INLINE friend auto operator<(Dual a, Dual b) { return a.v < b.v; }
    MERCER_INLINE friend auto operator<=(Dual a, Dual b) { return a.v <= b.v; }
    MERCER_INLINE friend auto operator>(Dual a, Dual b) { return a.v > b.v; }
    MERCER_INLINE friend auto operator>=(Dual a, Dual b) { return a.v >= b.v; }
    MERCER_INLINE friend auto operator==(Dual a, Dual b) { return a.v == b.v; }
    MERCER_INLINE friend auto operator!=(Dual a, Dual b) { return a.v != b.v; }
};

template <class V>
MERCER_INLINE auto primal(Dual<V> a) {
    return primal(a.v);
}
template <class V>
MERCER_INLINE auto is_nan(Dual<V> a) {
    return is_nan(a.v);
}
template <class M, class V>
MERCER_INLINE Dual<V> select(M m, Dual<V> a, Dual<V> b) {
    return {select(m, a.v, b.v), select(m, a.d, b.d)};
}
template <class V>
MERCER_INLINE Dual<V> fma(Dual<V> a, Dual<V> b, Dual<V> c) {
    return {fma(a.v, b.v, c.v), fma(a.d, b.v, fma(a.v, b.d, c.d))};
}
/// d|x| = sign(x), and 0 at 0.
template <class V>
MERCER_INLINE Dual<V> abs(Dual<V> a) {
    const V zero(typename V::Scalar(0));
    return {abs(a.v), select(a.v > zero, a.d, select(a.v < zero, -a.d, a.d * zero))};
}
template <class V>
MERCER_INLINE Dual<V> maximum(Dual<V> a, Dual<V> b) {
    return select(a.v >= b.v || is_nan(a.v), a, b);
}
template <class V>
MERCER_INLINE Dual<V> minimum(Dual<V> a, Dual<V> b) {
    return select(a.v <= b.v || is_nan(a.v), a, b);
}
template <class V>
MERCER_INLINE Dual<V> sqrt(Dual<V> a) {
    const V r = sqrt(a.v);
    return {r, a.d / (r + r)};
}
template <class V>
MERCER_INLINE Dual<V> exp(Dual<V> a) {
    const V e = exp(a.v);
    return {e, e * a.d};
}
template <class V>
MERCER_INLINE Dual<V> expm1(Dual<V> a) {
    return {expm1(a.v), exp(a.v) * a.d};
}
template <class V>
MERCER_INLINE Dual<V> log(Dual<V> a) {
    return {log(a.v), a.d / a.v};
}
template <class V>
MERCER_INLINE Dual<V> log1p(Dual<V> a) {
    using S = typename V::Scalar;
    return {log1p(a.v), a.d / (V(S(1)) + a.v)};
}
template <class V>
MERCER_INLINE Dual<V> sin(Dual<V> a) {
    return {sin(a.v), cos(a.v) * a.d};
}
template <class V>
MERCER_INLINE Dual<V> cos(Dual<V> a) {
    return {cos(a.v), -sin(a.v) * a.d};
}
template <class V>
MERCER_INLINE Dual<V> tanh(Dual<V> a) {
    using S = typename V::Scalar;
    const V t = tanh(a.v);
    return {t, (V(S(1)) - t * t) * a.d};
}
/// erf'(x) = 2/√π · exp(−x²)
template <class V>
MERCER_INLINE Dual<V> erf(Dual<V> a) {
    using S = typename V::Scalar;
    return {erf(a.v), V(S(1.1283791670955126)) * exp(-(a.v * a.v)) * a.d};
}
/// d(xʸ) = y·xʸ⁻¹ dx + xʸ·log x dy; the second term is 0 where x = 0 and y > 0 (its limit).
template <class V>
MERCER_INLINE Dual<V> pow(Dual<V> a, Dual<V> b) {
    using S = typename V::Scalar;
    const V zero(S(0)), one(S(1)), p = pow(a.v, b.v);
    const V log_x = select(a.v == zero, zero, log(select(a.v == zero, one, a.v)));
    const V by_x = select(b.v == zero, zero, b.v * pow(a.v, b.v - one)) * a.d;
    return {p, by_x + p * log_x * b.d};
}

}  // namespace mercer::MERCER_ISA
