// The regularised incomplete gamma functions P(a, x) and Q(a, x) = 1 − P, the inverse of P in x, and
// their derivatives in both arguments.
//
// With F = x^a e^−x/Γ(a) (stirling.h):
//   x < a + 1 (or x < 1.1 for a < 1): P = F/a Σ xⁿ/((a + 1)…(a + n)); for Q below a = 1
//     (floats: 2^-6) 1 − x^a/Γ(1 + a) and the alternating series, lest it be lost in 1 − P;
//   beyond: Q = F/(x + 1 − a − 1(1 − a)/(x + 3 − a − …)), by convergents;
//   a ≥ 100 and |x/a − 1| ≤ 0.4: Temme's expansion, uniform in a, e^(−aφ) [½ e^z² erfc z ±
//     Σ c_k(η) a^−k/√(2πa)] with ½η² = φ(x/a − 1), z = |η|√(a/2) (DLMF 8.12).
// So no argument takes more than some 150 terms. Each lane stops by itself. Derivatives in a go
// through the same text by dual numbers; those in x are closed. The inverse is Newton's method for
// log P (p ≤ ½) or log Q in log x, which are concave, so that it converges from any start.
// Floats are computed in double lanes, with shorter sums. Errors and domain: docs/accuracy.md.
#pragma once

#include "engine/simd/math/normal_quantile.h"
#include "engine/simd/stirling.h"

namespace mercer::MERCER_ISA {

/// Σ c_k(η) rᵏ, r = 1/a, for a ≥ 100 and |η| ≤ 0.48: to 2^-56.
template <class N>
MERCER_INLINE N temme_series(N eta, N r) {
    const N c0 = polynomial(eta, -0x1.5555555555555p-2, 0x1.5555555555555p-4, -0x1.e573ac901e574p-7,
                            0x1.2f684bda12f68p-10, 0x1.71de3a556c734p-12, -0x1.76e06fec7273bp-13,
                            0x1.48c5892f7cd83p-15, -0x1.255370652afc1p-19, -0x1.f1b22f594c6b5p-20,
                            0x1.bd6d21e4b4109p-21, -0x1.7b5f9a2d0465cp-23, 0x1.ccf5ceb7f0d9fp-28,
                            0x1.6097d55c37c1cp-27, -0x1.2d2197c7a2faap-28, 0x1.f6e66d24d5c8ap-31,
                            -0x1.c0d9b6edf2b0bp-36, -0x1.0070a87340428p-34, 0x1.ac9475c463659p-36,
                            -0x1.61ca701fd754ap-38, 0x1.ef98008f5eec2p-44, 0x1.7ba0759769d7cp-42);
    const N c1 = polynomial(eta, -0x1.e573ac901e574p-10, -0x1.c71c71c71c71cp-9, 0x1.5ac056b015acp-9,
                            -0x1.0394f6f09e723p-10, 0x1.af83440e53dbcp-13, -0x1.af83440e53dbcp-22,
                            -0x1.2fa4ae89e5afp-16, 0x1.00a9cabd6b83ep-17, -0x1.b0bdfcc629cbap-20,
                            0x1.3f59230a8357cp-28, 0x1.280f2cde3f847p-23, -0x1.ee23d0cba8aeep-25,
                            0x1.9aa7a30de114cp-27, -0x1.349fbca3a377bp-36, -0x1.1564ecff73d58p-30,
                            0x1.c9b434bf3c34ep-32, -0x1.78a5056f8ce45p-34, 0x1.113e3a466db9ep-44);
    const N c2 = polynomial(eta, 0x1.0ee643b990ee6p-8, -0x1.5f7268edab4c8p-9, 0x1.948b0fcd6e9ep-11,
                            0x1.0db20a88f4696p-19, -0x1.c253efaa1a932p-14, 0x1.bbf43daf4fe53p-15,
                            -0x1.ac2d05890f2c3p-17, 0x1.26154ae39151dp-25, 0x1.7058929663937p-20,
                            -0x1.522cb05171911p-21, 0x1.32ac81c15d3d7p-23, -0x1.c24bd0e740a6cp-33,
                            -0x1.e437343a46f5dp-27, 0x1.ac0d455e2536p-28, -0x1.77c5829460139p-30,
                            0x1.0962774f638bbp-40);
    const N c3 = polynomial(eta, 0x1.547d93b34e2b6p-11, 0x1.e13ce465fa859p-13, -0x1.ebfb188b7cap-12,
                            0x1.18b9b5bf2d984p-12, -0x1.3d2a3a29b5d9dp-14, -0x1.0152a1871f27ap-22,
                            0x1.73df462204ef4p-17, -0x1.7cd6f27b3f02p-18, 0x1.7e0201539310ep-20,
                            -0x1.ea23269c140a7p-36, -0x1.6c2dcffbefeefp-23, 0x1.5bde8ef4c4dc7p-24,
                            -0x1.4853ced169327p-26);
    const N c4 = polynomial(eta, -0x1.c3e0b02da7bf9p-11, 0x1.9b0ff6874f2c4p-11,
                            -0x1.3999a85a4237ap-12, -0x1.88f2ae1def9dp-20, 0x1.16908b48ce058p-14,
                            -0x1.4ce3fd902bcadp-15, 0x1.7db4c02846e81p-17, 0x1.13b3c5b7cb45ep-32,
                            -0x1.c71c074985d3fp-20, 0x1.de37d9f09164cp-21, -0x1.ec676cf33153cp-23);
    const N c5 =
        polynomial(eta, -0x1.6128ac5a4fa71p-12, -0x1.247604839c038p-14, 0x1.22be87360ef1fp-12,
                   -0x1.a2042c5148e27p-13, 0x1.1d1e9cb24760bp-14, 0x1.30bdcf208080ep-23,
                   -0x1.c823fc1b3cc36p-17, 0x1.0d0e229150428p-17, -0x1.338eb19652fd9p-19);
    const N c6 = polynomial(eta, 0x1.168ef1b0931c8p-11, -0x1.36773bdb97b48p-11,
                            0x1.1c0950d3ecb9dp-12, 0x1.a8411da6cab49p-21, -0x1.5600945495b37p-14,
                            0x1.d6bdf83130dc1p-15, -0x1.3382f4cf48618p-16);
    return (c0 + r * (c1 + r * (c2 + r * (c3 + r * (c4 + r * (c5 + r * c6))))));
}

template <class N>
MERCER_INLINE Tails<N> gamma_temme(N a, N e) {
    const N mu = e / a, g = deviance_ratio(mu), eta = mu * sqrt(N(2.0) * g), z = mu * sqrt(a * g);
    const auto left = primal(mu) < Vec<double>(0.0);
    const N series = temme_series(eta, N(1.0) / a) / sqrt(N(6.28318530717958647693) * a);
    const N tail = exp(-(e * mu * g)) *
                   (N(0.5) * scaled_erfc(select(left, -z, z)) + select(left, -series, series));
    const N rest = N(1.0) - tail;
    return {select(left, tail, rest), select(left, rest, tail)};
}

/// Σ xⁿ/((a + 1)…(a + n)), n from 0, where `active`, four terms by a division; NaN: not converged.
template <class T, class N>
MERCER_INLINE N gamma_series(N a, N x, Mask<double> active) {
    const N slack(sizeof(T) == 8 ? 1.0 : 0x1p-12);
    N sum = variable<N>(Vec<double>(1.0)), term = sum, n = a;
    for (int i = 0; i < 100 && any(active); ++i) {
        const N d1 = n + N(1.0), d2 = n + N(2.0), d3 = n + N(3.0), x2 = x * x;
        n = n + N(4.0);
        const N d43 = n * d3, d432 = d43 * d2, r = term / (d432 * d1);
        term = x2 * x2 * r;
        const N group = fma(x2, fma(x, n, d43), x * d432) * r + term;
        sum = select(active, sum + group, sum);
        active = active && !negligible(term * slack, sum);
    }
    return select(active, variable<N>(quiet_nan<double>()), sum);
}
/// Q/F by the continued fraction's convergents A/B, four of them by one division.
template <class T, class N>
MERCER_INLINE N gamma_fraction(N a, N x, Mask<double> active) {
    const N slack(sizeof(T) == 8 ? 0x1p-4 : 0x1p-22);
    N b = x + N(1.0) - a, top = variable<N>(Vec<double>(1.0)), low = b, h = top;
    N last_top = variable<N>(Vec<double>(0.0)), last_low = top;
    for (double i = 0; i < 400 && any(active);) {
        for (const double last = i + 4; i < last;) {
            i += 1;
            const N k = (a - N(i)) * N(i);
            b = b + N(2.0);
            const N next_top = fma(b, top, k * last_top), next_low = fma(b, low, k * last_low);
            last_top = top, last_low = low, top = next_top, low = next_low;
        }
        const N r = N(1.0) / low;
        top = top * r, last_top = last_top * r, last_low = last_low * r;
        low = variable<N>(Vec<double>(1.0));
        h = select(active, top, h);
        const N held = top * last_low;
        active = active && !negligible((held - last_top) * slack, held);
    }
    return select(active, variable<N>(quiet_nan<double>()), h);
}
/// Q for a < 1 and x < 1.1: −expm1 t − a eᵗ Σ (−x)ⁿ/((a + n) n!), t = a log x − log Γ(1 + a).
template <class T, class N>
MERCER_INLINE N gamma_upper_small(N a, N x) {
    const N t = a * log(x) - lgamma1p(a);
    N sum = variable<N>(Vec<double>(0.0)), power = lift<N>(Vec<double>(1.0));
    for (int n = 1; n <= (sizeof(T) == 8 ? 21 : 12); n += 3) {
        const N d1 = a + N(n), d2 = a + N(n + 1.0), d3 = a + N(n + 2.0);
        const N p1 = power * x * N(-1.0 / n), p2 = p1 * x * N(-1.0 / (n + 1));
        power = p2 * x * N(-1.0 / (n + 2));
        const N d23 = d2 * d3;
        sum = sum + fma(p1, d23, d1 * fma(p2, d3, power * d2)) / (d1 * d23);
    }
    return -(expm1(t) + a * exp(t) * sum);
}

/// P and Q for a, x ≥ 0, not both infinite or zero; with `lower` alone, Q may be no more than 1 − P. Of dual numbers only the
/// derivatives count.
template <class T, class N, bool lower = false>
MERCER_OUTLINE Tails<N> gamma_tails(N from, Vec<double> at) {
    const N shape = arrived(from);
    const Vec<double> zero(0.0), one(1.0), top(1e300), tiny(Format<double>::smallest_normal);
    const Vec<double> a0 = primal(shape), held = clamp(at, 0x1p-1074, 1e300);
    const auto out = a0 < tiny || a0 > top;
    const N a = select(out, variable<N>(one), shape), x = lift<N>(held), e = x - a;
    const Vec<double> av = primal(a);
    const auto uniform = av >= Vec<double>(100.0) && abs(primal(e)) <= Vec<double>(0.4) * av;
    const auto first = held < select(av < one, Vec<double>(1.1), av + one) && !uniform;
    const auto second = !first && !uniform;
    const N nothing = variable<N>(zero), whole = variable<N>(one);
    Tails<N> y{nothing, whole};
    if (any(uniform)) y = gamma_temme(a, e);
    if (any(first || second)) {
        constexpr bool slopes = !__is_same(N, Vec<double>);
        N f =
            exp(-(deviance(a, e, x) + log_gamma_star<0>(a))) * sqrt(a * N(0.15915494309189533577));
        // Its slopes in a are, for small a, differences of terms of 1/a.
        const auto flat = second && av < Vec<double>(slopes ? 0.25 : 0.0);
        if (slopes && any(flat)) f = select(flat, a * exp(a * log(x) - x - lgamma1p(a)), f);
        f = select(first && primal(f) == zero, nothing, f);  // with its slopes, 0 · log 0
        if (any(first)) {
            N p = f / a * gamma_series<T>(a, x, first && size(f) > zero), q = N(1.0) - p;
            constexpr double values = sizeof(T) == 8 ? 1.0 : 0x1p-6;
            const auto small = first && av < Vec<double>(slopes ? 0.25 : values);
            if ((slopes || !lower) && any(small)) {
                q = select(small, gamma_upper_small<T>(a, x), q);
                // A slope in a of F/a is a difference of terms of 1/a.
                const auto other = slopes ? small : small && primal(q) < primal(p);
                p = select(other, N(1.0) - q, p);
            } else if constexpr (!slopes) {
                p = select(p > whole, whole, p);
            }
            y = select(first, Tails<N>{p, q}, y);
        }
        if (any(second)) {
            const N q = f * gamma_fraction<T>(a, x, second && size(f) > zero);
            y = select(second, Tails<N>{N(1.0) - q, q}, y);
        }
    }
    const Tails<N> none{nothing, whole}, all{whole, nothing};
    y = select(a0 > top || at <= zero, none, y);
    y = select((a0 < tiny && at > zero) || at == infinity<double>(), all, y);
    const auto wrong = !(a0 >= zero && at >= zero) || (a0 == zero && at == zero) ||
                       (a0 == infinity<double>() && at == infinity<double>());
    const N nan = variable<N>(quiet_nan<double>());
    return select(wrong, Tails<N>{nan, nan}, y);
}

/// x^(a−1) e^−x/Γ(a)
template <class T>
MERCER_OUTLINE Vec<double> gamma_density_for(Vec<double> a, Vec<double> x) {
    const Vec<double> zero(0.0), one(1.0), e = x - a;
    const Vec<double> f = exp(-(deviance(a, e, x) + log_gamma_star<0>(a))) *
                          sqrt(a * Vec<double>(0.15915494309189533577));
    const Vec<double> edge = select(a < one, infinity<double>(), select(a == one, one, zero));
    return select(x == zero, edge, select(x == infinity<double>(), zero, f / x));
}
/// x with P(a, x) = p.
template <class T>
MERCER_OUTLINE Vec<double> gammaincinv_for(Vec<double> a, Vec<double> p) {
    const Vec<double> zero(0.0), one(1.0);
    const auto inside = p > zero && p < one && a > zero && a < infinity<double>();
    const auto left = p <= Vec<double>(0.5);
    const Vec<double> target = select(left, p, one - p);
    // Where P = x^a e^−x/Γ(1 + a), or Wilson and Hilferty's normal approximation of (x/a)^⅓.
    const Vec<double> power = log(p) + lgamma1p(a);
    Vec<double> x = zero;
    for (int i = 0; i < 4; ++i)
        x = minimum(exp(clamp((power + x) / a, -700.0, 700.0)), select(left, a, maximum(a, one)));
    const Vec<double> r = one / (a * Vec<double>(9.0));
    const Vec<double> root = fma(normal_icdf(p), sqrt(r), one - r);
    x = select(a >= one && root > Vec<double>(0.2), a * root * root * root, x);
    // So small a root is all power law, and may be subnormal or 0.
    const auto faint = inside && power < a * Vec<double>(-690.0);
    x = select(faint, exp(power / a), x);
    auto active = inside && !faint;
    Vec<double> low = zero, high(infinity<double>());  // the root is between
    for (int i = 0; i < 100 && any(active); ++i) {
        const Tails<Vec<double>> t = gamma_tails<double, Vec<double>>(a, x);
        const Vec<double> f = select(left, t.lower, -t.upper);
        const Vec<double> slope = x * gamma_density_for<double>(a, x);
        const Vec<double> r = abs(f) / target;
        // log r/(slope/f), with log r = log1p((|f| − target)/target) near the root
        const Vec<double> l = select(r > Vec<double>(0.5) && r < Vec<double>(2.0),
                                     log1p((abs(f) - target) / target), log(r));
        const Vec<double> step = clamp(-l * f / slope, -50.0, 2.0);
        // Where the tail vanishes there is no step, and beyond one that does not help.
        const auto before = select(left, t.lower, target) < select(left, target, t.upper);
        low = select(before, x, low), high = select(before, high, x);
        const Vec<double> next = x * exp(step), half = sqrt(low) * sqrt(high);
        const auto lost = !(abs(step) < Vec<double>(0.1)) && !(next > low && next < high);
        const auto ends = low > zero && high < infinity<double>();
        const Vec<double> away = x * select(before, Vec<double>(1.5), Vec<double>(0.5));
        x = select(active, select(lost, select(ends, half, away), next), x);
        // This far off, a step leaves about its square.
        const auto far = abs(l) > Vec<double>(0x1p-28) && abs(step) > Vec<double>(0x1p-51);
        active = active && (lost || far);
    }
    x = select(p == zero && a > zero, zero, select(p == one && a > zero, infinity<double>(), x));
    return select(inside || (a > zero && (p == zero || p == one)), x, quiet_nan<double>());
}

template <class T>
MERCER_OUTLINE Vec<double> gammainc_for(Vec<double> a, Vec<double> x) {
    return gamma_tails<T, Vec<double>, true>(a, x).lower;
}
template <class T>
MERCER_OUTLINE Vec<double> gammaincc_for(Vec<double> a, Vec<double> x) {
    return gamma_tails<T, Vec<double>>(a, x).upper;
}
template <class T>
MERCER_OUTLINE Vec<double> gammainc_da_for(Vec<double> a, Vec<double> x) {
    return gamma_tails<T, Dual<Vec<double>>, true>({a, Vec<double>(1.0)}, x).lower.d;
}
template <class T>
MERCER_OUTLINE Vec<double> gammainc_daa_for(Vec<double> a, Vec<double> x) {
    const Vec<double> one(1.0);
    return gamma_tails<T, Dual<Dual<Vec<double>>>, true>({{a, one}, {one, Vec<double>(0.0)}}, x)
        .lower.d.d;
}

MERCER_IN_DOUBLE(gammainc)
MERCER_IN_DOUBLE(gammaincc)
MERCER_IN_DOUBLE(gammaincinv)
MERCER_IN_DOUBLE(gamma_density)
MERCER_IN_DOUBLE(gammainc_da)
MERCER_IN_DOUBLE(gammainc_daa)

/// p = x^(a−1) e^−x/Γ(a): ∂p/∂x = p ((a − 1)/x − 1), ∂p/∂a = p (log x − ψ(a))
template <class V>
MERCER_INLINE Dual<V> gamma_density(Dual<V> a, Dual<V> x) {
    const V one(typename V::Scalar(1)), p = gamma_density(a.v, x.v);
    Dual<V> y(p);
    follow(y, x, [&] { return p * ((a.v - one) / x.v - one); });
    follow(y, a, [&] { return p * (log(x.v) - digamma(a.v)); });
    return y;
}
template <class V>
MERCER_INLINE Dual<V> gammainc_da(Dual<V> a, Dual<V> x) {
    Dual<V> y(gammainc_da(a.v, x.v));
    follow(y, a, [&] { return gammainc_daa(a.v, x.v); });
    follow(y, x, [&] { return gamma_density(a.v, x.v) * (log(x.v) - digamma(a.v)); });
    return y;
}
template <class V>
MERCER_INLINE Dual<V> gammainc(Dual<V> a, Dual<V> x) {
    Dual<V> y(gammainc(a.v, x.v));
    follow(y, a, [&] { return gammainc_da(a.v, x.v); });
    follow(y, x, [&] { return gamma_density(a.v, x.v); });
    return y;
}
template <class V>
MERCER_INLINE Dual<V> gammaincc(Dual<V> a, Dual<V> x) {
    Dual<V> y(gammaincc(a.v, x.v));
    follow(y, a, [&] { return -gammainc_da(a.v, x.v); });
    follow(y, x, [&] { return -gamma_density(a.v, x.v); });
    return y;
}
/// P(a, x) = p: ∂x/∂p = 1/P_x, ∂x/∂a = −P_a/P_x, at an x that no float may hold
template <class V>
MERCER_INLINE Dual<V> gammaincinv(Dual<V> a, Dual<V> p) {
    if constexpr (of_floats<V>) {
        return by_halves([](auto... x) { return gammaincinv(x...); }, a, p);
    } else {
        const V zero(0.0), one(1.0), x = gammaincinv(a.v, p.v), r = one / gamma_density(a.v, x);
        Dual<V> y(x);  // at its ends whatever a is
        follow(y, p, [&] { return r; });
        follow(y, a, [&] {
            return select(x == zero || x == V(__builtin_inf()), zero, -gammainc_da(a.v, x) * r);
        });
        return y;
    }
}

}  // namespace mercer::MERCER_ISA
