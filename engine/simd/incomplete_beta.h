// The regularised incomplete beta function I_x(a, b), its inverse in x, and their derivatives in all
// arguments.
//
// With F = x^a y^b/B(a, b), y = 1 − x (stirling.h, e = xb − ya):
//   F = √(ab/2π(a + b)) e^(−aφ(e/a) − bφ(−e/b) − c(a) − c(b) + c(a + b)),
//   I = F/a · 1/(1 + d₁/(1 + d₂/(1 + …))) for x ≤ (a + 1)/(a + b + 2)   (DLMF 8.17.22, Lentz's way),
// and 1 − I_y(b, a) beyond. Each lane stops by itself. Derivatives in a and b go through the same
// text by dual numbers, those in x are closed. The inverse is Newton's method for log I (p ≤ ½) or
// log(1 − I), concave in log(x/y). Floats: in double lanes. Errors and domain: docs/accuracy.md.
#pragma once

#include "engine/simd/math/normal_quantile.h"
#include "engine/simd/stirling.h"

namespace mercer::MERCER_ISA {

/// F for numbers with or without derivatives in a and b.
template <class N>
MERCER_INLINE N beta_front(N a, N b, Vec<double> at, Vec<double> rest) {
    const N x = lift<N>(at), y = lift<N>(rest), s = a + b, e = x * b - y * a;
    const N power = deviance(a, e, x * s) + deviance(b, -e, y * s);
    const N stars = log_gamma_star<0>(a) + log_gamma_star<0>(b) - log_gamma_star<0>(s);
    return exp(-(power + stars)) * sqrt(a * (b / s) * N(0.15915494309189533577));
}
/// aI/F; NaN where it has not converged.
template <class N>
MERCER_INLINE N beta_fraction(N a, N b, N x, Mask<double> active) {
    const N one(1.0), s = a + b;
    N c = variable<N>(Vec<double>(1.0)), d = one / (one - s * x / (a + one)), h = d;
    for (int i = 1; i < 20000 && any(active); ++i) {
        const N m = N(1.0 * i), even = a + m + m;
        N k = m * (b - m) * x / ((even - one) * even);
        d = one / fma(k, d, one);
        c = one + k / c;
        const N half = h * (c * d);
        k = -((a + m) * (s + m) * x / (even * (even + one)));
        d = one / fma(k, d, one);
        c = one + k / c;
        const N next = half * (c * d), step = next - h;
        h = select(active, next, h);
        active = active && !negligible(step, h * N(8.0));
    }
    return select(active, variable<N>(quiet_nan<double>()), h);
}

/// I and 1 − I at x = 1 − y; a, b > 0 and 0 < x < 1 finite, or their limits.
template <class N>
MERCER_OUTLINE Tails<N> beta_tails(N from_a, N from_b, Vec<double> x, Vec<double> y) {
    const N shape_a = arrived(from_a), shape_b = arrived(from_b);
    const Vec<double> zero(0.0), one(1.0), half(0.5);
    const Vec<double> a0 = primal(shape_a), b0 = primal(shape_b);
    const Vec<double> tiny(Format<double>::smallest_normal), top(1e150);
    const auto valid = a0 >= zero && b0 >= zero && x >= zero && y >= zero;
    const auto usual =
        valid && a0 >= tiny && b0 >= tiny && a0 <= top && b0 <= top && x > zero && y > zero;
    const N nothing = variable<N>(zero), whole = variable<N>(one);
    const N a = select(usual, shape_a, whole), b = select(usual, shape_b, whole);
    const Vec<double> at = select(usual, x, half), rest = select(usual, y, half);
    const N s = a + b;
    const auto swapped = at * (primal(s) + Vec<double>(2.0)) > primal(a) + one;
    const N first = select(swapped, b, a), second = select(swapped, a, b);
    N front = beta_front(a, b, at, rest) / first;
    // Slopes of this in small shapes are differences of the shapes' inverses, or of their squares.
    const auto faint = primal(first) < Vec<double>(1e-4) || primal(second) < Vec<double>(1e-16);
    if (!__is_same(N, Vec<double>) && any(faint)) {
        const N power = a * log(lift<N>(at)) + b * log(lift<N>(rest)) - lgamma1p(first);
        const N f = exp(power + (lgamma1p(s) - lgamma1p(second)));
        front = select(faint, f * (second / s), front);
    }
    const N part = front * beta_fraction(first, second, lift<N>(select(swapped, rest, at)), usual);
    const N other = N(1.0) - part, nan = variable<N>(quiet_nan<double>());
    Tails<N> t{select(swapped, other, part), select(swapped, part, other)};
    // Limits: nothing below x = 0, all of it below 1; all mass at 0 for a = 0 or b = ∞.
    const auto none = x == zero || ((b0 < tiny || a0 > top) && y > zero);
    const auto all = y == zero || ((a0 < tiny || b0 > top) && x > zero);
    const auto unknown = !valid || (none && all);
    t = select(none, Tails<N>{nothing, whole}, t);
    t = select(all, Tails<N>{whole, nothing}, t);
    return select(unknown, Tails<N>{nan, nan}, t);
}

/// x^(a−1) (1 − x)^(b−1)/B(a, b)
template <class T>
MERCER_OUTLINE Vec<double> beta_density_for(Vec<double> a, Vec<double> b, Vec<double> x) {
    const Vec<double> zero(0.0), one(1.0), top(infinity<double>()), y = one - x;
    const auto edge = [&](Vec<double> shape, Vec<double> other) {
        return select(shape < one, top, select(shape == one, other, zero));
    };
    const auto shapes = a > zero && b > zero && a < top && b < top;
    const Vec<double> p = beta_front(a, b, x, y) / (x * y);
    return select(shapes && x == zero, edge(a, b), select(shapes && y == zero, edge(b, a), p));
}
template <class T>
MERCER_OUTLINE Vec<double> betainc_for(Vec<double> a, Vec<double> b, Vec<double> x) {
    return beta_tails<Vec<double>>(a, b, x, Vec<double>(1.0) - x).lower;
}
/// I_a·da + I_b·db
template <class T>
MERCER_OUTLINE Vec<double> betainc_along_for(Vec<double> a, Vec<double> b, Vec<double> x,
                                             Vec<double> da, Vec<double> db) {
    return beta_tails<Dual<Vec<double>>>({a, da}, {b, db}, x, Vec<double>(1.0) - x).lower.d;
}
/// Σ I_ij d_i e_j over i, j = a, b.
template <class T>
MERCER_OUTLINE Vec<double> betainc_along_twice_for(Vec<double> a, Vec<double> b, Vec<double> x,
                                                   Vec<double> da, Vec<double> db, Vec<double> ea,
                                                   Vec<double> eb) {
    const Vec<double> zero(0.0);
    return beta_tails<Dual<Dual<Vec<double>>>>({{a, da}, {ea, zero}}, {{b, db}, {eb, zero}}, x,
                                               Vec<double>(1.0) - x)
        .lower.d.d;
}
/// x with I_x(a, b) = p.
template <class T>
MERCER_OUTLINE Vec<double> betaincinv_for(Vec<double> a, Vec<double> b, Vec<double> p) {
    const Vec<double> zero(0.0), one(1.0), two(2.0);
    const auto shapes = a > zero && b > zero && a < infinity<double>() && b < infinity<double>();
    const auto inside = shapes && p > zero && p < one;
    const auto left = p <= Vec<double>(0.5);
    const Vec<double> target = select(left, p, one - p), shape = select(left, a, b);
    // Start from the tail's power law, or for a, b ≥ 1 from the normal approximation of Abramowitz
    // and Stegun, 26.5.22.
    const Vec<double> log_beta = lgamma(a) + lgamma(b) - lgamma(a + b);
    const Vec<double> power = (log(target) + log(shape) + log_beta) / shape;
    Vec<double> t = select(left, power, -power);
    const Vec<double> z = -normal_icdf(p), ra = one / (a + a - one), rb = one / (b + b - one);
    const Vec<double> h = two / (ra + rb), l = (z * z - Vec<double>(3.0)) * Vec<double>(1.0 / 6);
    const Vec<double> w =
        z * sqrt(l + h) / h - (rb - ra) * (l + Vec<double>(5.0 / 6) - two / (h * Vec<double>(3.0)));
    t = select(a >= one && b >= one && l + h > zero, log(a / b) - (w + w), t);
    Vec<double> odds = exp(clamp(t, -700.0, 700.0));
    const Vec<double> most(infinity<double>());
    const auto share_of = [&](Vec<double> o) { return select(o == most, one, o / (one + o)); };
    const Vec<double> square_below(0x1p-28);  // this far off, a step leaves about its square
    auto active = inside;
    for (int i = 0; i < 100 && any(active); ++i) {
        const Vec<double> x = share_of(odds), y = one / (one + odds);
        const Tails<Vec<double>> tails = beta_tails<Vec<double>>(a, b, x, y);
        const Vec<double> f = select(left, tails.lower, tails.upper), r = f / target;
        const Vec<double> q = log1p((f - target) / target);
        const Vec<double> log_r = select(r > Vec<double>(0.5) && r < two, q, log(r));
        const Vec<double> newton = log_r * f / select(left, -one, one) / beta_front(a, b, x, y);
        const Vec<double> forward = select(left, two, -two);
        const Vec<double> step = select(f == zero, forward, clamp(newton, -30.0, 30.0));
        odds = select(active, odds * exp(step), odds);
        active = active && abs(log_r) > square_below && abs(step) > Vec<double>(0x1p-51);
    }
    const Vec<double> x = share_of(odds);
    const Vec<double> edge = select(shapes && (p == zero || p == one), p, quiet_nan<double>());
    return select(inside, x, edge);
}

MERCER_IN_DOUBLE(betainc)
MERCER_IN_DOUBLE(betaincinv)
MERCER_IN_DOUBLE(beta_density)
MERCER_IN_DOUBLE(betainc_along)
MERCER_IN_DOUBLE(betainc_along_twice)

/// p = x^(a−1) y^(b−1)/B: ∂p/∂x = p ((a − 1)/x − (b − 1)/y), ∂p/∂a = p (log x − ψ(a) + ψ(a + b))
template <class V>
MERCER_INLINE Dual<V> beta_density(Dual<V> a, Dual<V> b, Dual<V> x) {
    const V one(typename V::Scalar(1)), p = beta_density(a.v, b.v, x.v);
    Dual<V> y(p);
    follow(y, x, [&] { return p * ((a.v - one) / x.v - (b.v - one) / (one - x.v)); });
    follow(y, a, [&] { return p * (log(x.v) - digamma(a.v) + digamma(a.v + b.v)); });
    follow(y, b, [&] { return p * (log1p(-x.v) - digamma(b.v) + digamma(a.v + b.v)); });
    return y;
}
template <class V>
MERCER_INLINE Dual<V> betainc_along(Dual<V> a, Dual<V> b, Dual<V> x, Dual<V> da, Dual<V> db) {
    Dual<V> y(betainc_along(a.v, b.v, x.v, da.v, db.v));
    const Dual<V> shapes(y.v, V(typename V::Scalar(1)));
    if (a.live || b.live)
        follow(y, shapes, [&] {
            return betainc_along_twice(a.v, b.v, x.v, derivative(a), derivative(b), da.v, db.v);
        });
    if (da.live || db.live)
        follow(y, shapes,
               [&] { return betainc_along(a.v, b.v, x.v, derivative(da), derivative(db)); });
    follow(y, x, [&] {  // the density along (da, db)
        return beta_density(Dual<V>(a.v, da.v), Dual<V>(b.v, db.v), Dual<V>(x.v)).d;
    });
    return y;
}
/// I_a·a' + I_b·b'
template <class V>
MERCER_INLINE V betainc_shapes(Dual<V> a, Dual<V> b, V x) {
    return betainc_along(a.v, b.v, x, derivative(a), derivative(b));
}
template <class V>
MERCER_INLINE Dual<V> betainc(Dual<V> a, Dual<V> b, Dual<V> x) {
    Dual<V> y(betainc(a.v, b.v, x.v));
    if (a.live || b.live) y = Dual<V>(y.v, betainc_shapes(a, b, x.v));
    follow(y, x, [&] { return beta_density(a.v, b.v, x.v); });
    return y;
}
/// I_x(a, b) = p: ∂x/∂p = 1/I_x, ∂x/∂a = −I_a/I_x, at an x that no float may hold
template <class V>
MERCER_INLINE Dual<V> betaincinv(Dual<V> a, Dual<V> b, Dual<V> p) {
    if constexpr (of_floats<V>) {
        return by_halves([](auto... x) { return betaincinv(x...); }, a, b, p);
    } else {
        const V one(1.0), x = betaincinv(a.v, b.v, p.v);
        const V zero(0.0), r = one / beta_density(a.v, b.v, x);
        Dual<V> y(x);  // at its ends whatever the shapes are
        if (a.live || b.live)
            y = Dual<V>(x, select(x == zero || x == one, zero, -betainc_shapes(a, b, x) * r));
        follow(y, p, [&] { return r; });
        return y;
    }
}

}  // namespace mercer::MERCER_ISA
