// What the incomplete gamma and beta functions share: powers over gamma functions without
// cancellation, as
//   x^a e^−x / Γ(a) = √(a/2π) e^(−aφ(e/a) − c(a)),   e = x − a,
// with φ(μ) = μ − log(1 + μ) and c(a) = log Γ(a) − (a − ½) log a + a − ½ log 2π, for numbers N with
// or without derivatives.
#pragma once

#include "engine/simd/gamma.h"
#include "engine/simd/math/erfc.h"

namespace mercer::MERCER_ISA {

/// A distribution function and its complement.
template <class N>
struct Tails {
    N lower, upper;
};
template <class M, class N>
MERCER_INLINE Tails<N> select(M m, Tails<N> a, Tails<N> b) {
    return {select(m, a.lower, b.lower), select(m, a.upper, b.upper)};
}

/// A plain number among those with derivatives: one known to be constant, or one that a loop will
/// make variable.
template <class N>
MERCER_INLINE N lift(Vec<double> x) {
    if constexpr (__is_same(N, Vec<double>))
        return x;
    else
        return N(lift<decltype(N::v)>(x));
}
template <class N>
MERCER_INLINE N variable(Vec<double> x) {
    if constexpr (__is_same(N, Vec<double>))
        return x;
    else
        return N(variable<decltype(N::v)>(x), variable<decltype(N::v)>(Vec<double>(0.0)));
}
/// What came through memory, with its derivatives known to be there.
MERCER_INLINE Vec<double> arrived(Vec<double> x) { return x; }
template <class V>
MERCER_INLINE Dual<V> arrived(Dual<V> x) {
    return Dual<V>(arrived(x.v), arrived(x.d));
}
template <class N>
MERCER_INLINE N polynomial(N, double c) {
    return N(c);
}
template <class N, class... C>
MERCER_INLINE N polynomial(N x, double c, C... more) {
    return fma(x, polynomial(x, more...), N(c));
}
MERCER_INLINE Vec<double> size(Vec<double> s) { return abs(s); }
template <class V>
MERCER_INLINE Vec<double> size(Dual<V> s) {
    return size(s.v) + size(s.d);
}
MERCER_INLINE Mask<double> below(Vec<double> t, Vec<double> scale) {
    return !(abs(t) > scale * Vec<double>(0x1p-54));
}
template <class V>
MERCER_INLINE Mask<double> below(Dual<V> t, Vec<double> scale) {
    return below(t.v, scale) && below(t.d, scale);
}
/// Whether adding t to s changes neither its value nor, to the value's precision, its derivatives.
MERCER_INLINE Mask<double> negligible(Vec<double> t, Vec<double> s) { return below(t, abs(s)); }
template <class V>
MERCER_INLINE Mask<double> negligible(Dual<V> t, Dual<V> s) {
    return negligible(t.v, s.v) && below(t.d, size(s));
}

/// log Γ(1 + a), relative near 0 too.
MERCER_INLINE Vec<double> lgamma1p(Vec<double> a) {
    const Mask<double> small = a < Vec<double>(0.4);
    const Vec<double> y = lgamma_for<double>(a + Vec<double>(1.0));
    return select(small, a * lgamma_near_one<double>(select(small, a, Vec<double>(0.0))), y);
}
MERCER_DERIVATIVE(lgamma1p, digamma(x + one))

/// The k-th derivative of c(a), k ≤ 2.
template <int k>
MERCER_OUTLINE Vec<double> log_gamma_star(Vec<double> a) {
    static_assert(k <= 2);
    const Vec<double> r = Vec<double>(1.0) / a, half(0.5);
    if constexpr (k == 2) return polygamma_for<double, 1>(a) - fma(r * r, half, r);
    const Mask<double> small = a < Vec<double>(2.6);
    const Vec<double> u = r * r;
    Vec<double> y = k == 0 ? r * stirling<double>(u) : -u * digamma_series<double>(u);
    if (any(small)) {
        const Vec<double> l = log(a);
        Vec<double> z;
        if constexpr (k == 0)
            z = (lgamma1p(a) + a) - fma(a + half, l, Vec<double>(0.91893853320467274178));
        else
            z = (digamma_for<double>(a) - l) + r * half;
        y = select(small, z, y);
    }
    return y;
}
template <int k, class V>
MERCER_INLINE Dual<V> log_gamma_star(Dual<V> a) {
    return chain(a, log_gamma_star<k>(a.v), [&] { return log_gamma_star<k + 1>(a.v); });
}

/// g = φ(μ)/μ² for −½ ≤ μ ≤ 1: with s = μ/(2 + μ), log(1 + μ) = 2 artanh s, so that g = w − 2w³μ K,
/// w = 1/(2 + μ), K = (artanh s − s)/s³.
template <class N>
MERCER_INLINE N deviance_ratio(N mu) {
    const N w = N(1.0) / (mu + N(2.0)), s = mu * w;
    const N k = polynomial(s * s, 0x1.5555555555555p-2, 0x1.999999999999ap-3, 0x1.24924924924bfp-3,
                           0x1.c71c71c71818ap-4, 0x1.745d17478ebeep-4, 0x1.3b13b0d147f9cp-4,
                           0x1.11112128ca36cp-4, 0x1.e1de9cf484ac8p-5, 0x1.af6252db1e353p-5,
                           0x1.835d8b2e10b41p-5, 0x1.7a23f3b537c04p-5, 0x1.b0d12f69f6aacp-6,
                           0x1.31f27c2f06e4fp-4);
    return w - N(2.0) * w * w * s * k;
}
/// aφ(e/a), m = a + e.
template <class N>
MERCER_INLINE N deviance(N a, N e, N m) {
    const N mu = e / a;
    const auto near = primal(mu) > Vec<double>(-0.5) && primal(mu) < Vec<double>(1.0);
    N y = variable<N>(Vec<double>(0.0));
    if (any(near)) y = e * mu * deviance_ratio(mu);
    if (any(!near)) {
        const N ratio = m / a;  // held finite: a times its logarithm is then 0
        const auto huge = primal(ratio) > Vec<double>(1e300);
        const N far = e - a * log(select(huge, N(1e300), ratio));
        y = select(near, y, far);
    }
    return y;
}

/// E(z) = e^(z²) erfc z
MERCER_INLINE Vec<double> scaled_erfc(Vec<double> z) { return erfcx<double>(z); }
/// E' = 2zE − 2/√π
MERCER_DERIVATIVE(scaled_erfc, V(2.0) * x * y - V(1.12837916709551257390))

}  // namespace mercer::MERCER_ISA
