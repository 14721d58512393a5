// Dual numbers a + ε·d, ε² = 0: a formula evaluated on Dual<V> yields its value and its exact
// directional derivative. Dual<Dual<V>> yields second derivatives. Every function that a formula
// may call has its rule here, once.
//
// A number knows whether its derivative is zero by structure, as a constant's is. Formulas are
// inlined whole, so this is decided when they are compiled, and costs nothing: what would be
// multiplied by such a zero is not computed at all.
#pragma once

#include "engine/simd/math.h"
#include "engine/simd/vec.h"

namespace mercer::MERCER_ISA {

template <class V>
struct Dual {
    using Scalar = typename V::Scalar;
    V v;        // value
    V d;        // derivative
    bool live;  // false: d is zero by structure

    Dual() = default;
    MERCER_INLINE Dual(V value) : v(value), d(Scalar(0)), live(false) {}
    MERCER_INLINE Dual(V value, V derivative) : v(value), d(derivative), live(true) {}
    MERCER_INLINE Dual(Scalar constant) requires(!__is_same(V, Scalar)) : Dual(V(constant)) {}

    /// f(this) from f(v) and f'(v).
    MERCER_INLINE Dual through(V value, V slope) const {
        if (!live) return value;
        return {value, slope * d};
    }

    MERCER_INLINE friend Dual operator+(Dual a, Dual b) {
        if (!a.live && !b.live) return a.v + b.v;
        return {a.v + b.v, !a.live ? b.d : !b.live ? a.d : a.d + b.d};
    }
    MERCER_INLINE friend Dual operator-(Dual a, Dual b) {
        if (!a.live && !b.live) return a.v - b.v;
        return {a.v - b.v, !a.live ? -b.d : !b.live ? a.d : a.d - b.d};
    }
    MERCER_INLINE friend Dual operator*(Dual a, Dual b) {
        if (!a.live && !b.live) return a.v * b.v;
        return {a.v * b.v, !a.live ? a.v * b.d : !b.live ? a.d * b.v : a.d * b.v + a.v * b.d};
    }
    MERCER_INLINE friend Dual operator/(Dual a, Dual b) {
        const V q = a.v / b.v;
        if (!a.live && !b.live) return q;
        return {q, !b.live ? a.d / b.v : (!a.live ? -(q * b.d) : a.d - q * b.d) / b.v};
    }
    MERCER_INLINE friend Dual operator-(Dual a) {
        if (!a.live) return -a.v;
        return {-a.v, -a.d};
    }
    MERCER_INLINE friend auto operator<(Dual a, Dual b) { return a.v < b.v; }
    MERCER_INLINE friend auto operator<=(Dual a, Dual b) { return a.v <= b.v; }
    MERCER_INLINE friend auto operator>(Dual a, Dual b) { return a.v > b.v; }
    MERCER_INLINE friend auto operator>=(Dual a, Dual b) { return a.v >= b.v; }
    MERCER_INLINE friend auto operator==(Dual a, Dual b) { return a.v == b.v; }
    MERCER_INLINE friend auto operator!=(Dual a, Dual b) { return a.v != b.v; }
};

/// The rule of y = f(x) by y', `derivative`: in x, x' as d, y and one; or by f'(x), `slope`.
#define MERCER_RULE(f, derivative)                           \
    template <class V>                                       \
    MERCER_INLINE Dual<V> f(Dual<V> a) {                     \
        const V x = a.v, y = f(x), d = a.d;                  \
        if (!a.live) return y;                               \
        [[maybe_unused]] const V one(typename V::Scalar(1)); \
        return {y, derivative};                              \
    }
#define MERCER_DERIVATIVE(f, slope) MERCER_RULE(f, (slope)*d)

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
    const V v = select(m, a.v, b.v);
    if (!a.live && !b.live) return v;
    return {v, select(m, a.d, b.d)};
}
template <class V>
MERCER_INLINE Dual<V> fma(Dual<V> a, Dual<V> b, Dual<V> c) {
    const V v = fma(a.v, b.v, c.v);
    if (!a.live && !b.live) return c.through(v, V(typename V::Scalar(1)));
    if (!a.live) return {v, c.live ? fma(a.v, b.d, c.d) : a.v * b.d};
    if (!b.live) return {v, c.live ? fma(a.d, b.v, c.d) : a.d * b.v};
    return {v, fma(a.d, b.v, c.live ? fma(a.v, b.d, c.d) : a.v * b.d)};
}
/// −x·p; where p has faded to 0 it is 0, at ±∞ as well.
template <class V>
MERCER_INLINE V fading(V x, V p) {
    const V zero(typename V::Scalar(0));
    return select(p == zero, zero, -x * p);
}
/// d|x| = sign(x), and 0 at 0.
template <class V>
MERCER_INLINE Dual<V> abs(Dual<V> a) {
    if (!a.live) return abs(a.v);
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
MERCER_RULE(sqrt, d / (y + y))
MERCER_DERIVATIVE(exp, y)
MERCER_DERIVATIVE(expm1, exp(x))
MERCER_RULE(log, d / x)
/// 2^x: log 2 · 2^x
MERCER_DERIVATIVE(exp2, V(typename V::Scalar(0.69314718055994530942)) * y)
MERCER_DERIVATIVE(log2, V(typename V::Scalar(1.44269504088896340736)) / x)
MERCER_DERIVATIVE(log10, V(typename V::Scalar(0.43429448190325182765)) / x)
MERCER_RULE(log1p, d / (one + x))
MERCER_DERIVATIVE(sin, cos(x))
MERCER_DERIVATIVE(cos, -sin(x))
MERCER_DERIVATIVE(tanh, one - y * y)
/// d(xʸ) = y·xʸ⁻¹ dx + xʸ·log x dy; the second term is 0 where x = 0 and y ≥ 0 (its limit, of y > 0). Of infinite y or x a
/// power that is 0 takes its term with it; not else, for it may have a derivative. Where y does not move the second is 0,
/// though x be negative.
template <class V>
MERCER_INLINE Dual<V> pow(Dual<V> a, Dual<V> b) {
    const V zero(typename V::Scalar(0)), one(typename V::Scalar(1)), p = pow(a.v, b.v);
    const V infinite = V(typename V::Scalar(__builtin_inf())), q = pow(a.v, b.v - one);
    const V slope_x = select(b.v == zero || (abs(b.v) == infinite && q == zero), zero, b.v * q);
    const V l = log(select(a.v == zero && b.v >= zero, one, a.v));
    const V slope_y = select(a.v == infinite && p == zero, zero, p * l);
    Dual<V> y = a.through(zero, slope_x);
    if (b.live) y = y + Dual<V>(zero, select(b.d == zero, zero, slope_y * b.d));
    y.v = p;
    return y;
}

}  // namespace mercer::MERCER_ISA
