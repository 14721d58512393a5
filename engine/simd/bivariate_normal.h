// The bivariate normal distribution function Φ₂(h, k; ρ) = P(X ≤ h, Y ≤ k), and its derivatives.
//
// |ρ| < 0.925: ∂Φ₂/∂ρ is the density, so that with r = sin θ
//   Φ₂ = Φ(h)Φ(k) + 1/2π ∫₀^asin ρ e^(−(h² + k² − 2hk sin θ)/2cos² θ) dθ,
// by 20 Gauss nodes. Beyond, what is missing from |ρ| = 1, where Φ₂ is Φ(min(h, k)) or max(0, Φ(h) −
// Φ(−k)), in √(1 − r²), after the first terms of its expansion have been integrated by themselves
// (Drezner and Wesolowsky 1990; Genz, Numerical computation of rectangular bivariate and trivariate
// normal and t probabilities, 2004). The error is absolute, of some 10⁻¹⁶. Floats: in double lanes.
// Derivatives: ∂/∂h = φ(h) Φ((k − ρh)/√(1 − ρ²)), likewise k, ∂/∂ρ = the density; limits at |ρ| = 1.
#pragma once

#include "engine/simd/normal.h"

namespace mercer::MERCER_ISA {

/// Beyond ±40 densities vanish; and infinities would meet.
template <class V>
MERCER_INLINE V held(V x) {
    const V far(typename V::Scalar(40));
    return minimum(maximum(x, -far), far);
}

/// Ten of the twenty Gauss–Legendre nodes on [−1, 1] (the others are their negatives), and their weights. The arrays are
/// local: a device has no static ones of the host's.
template <bool weight>
MERCER_INLINE double gauss(int i) {
    constexpr double at[2][10] = {
        {0x1.fc7b5a0c71cep-1, 0x1.ed8dba7bd769fp-1, 0x1.d31064173fd92p-1, 0x1.ada0bd5efd6e7p-1,
         0x1.7e1f37346a54ep-1, 0x1.45a8d3fa710dbp-1, 0x1.05905c13f7ff7p-1, 0x1.7eaccf15652c4p-2,
         0x1.d281636928bcp-3, 0x1.3973df98b86bp-4},
        {0x1.209680274e8afp-6, 0x1.4c9b5ea53b67fp-5, 0x1.00b467df7e475p-4, 0x1.5519fe196e24ap-4,
         0x1.a1817a317a821p-4, 0x1.e41ff31573b48p-4, 0x1.0db2c5db26dffp-3, 0x1.230348f34a535p-3,
         0x1.31819b52c5992p-3, 0x1.38d6c490a337p-3}};
    return at[weight][i];
}

/// asin r for |r| ≤ 0.925: 2 atan(r/(1 + √(1 − r²)))
MERCER_INLINE Vec<double> asin_moderate(Vec<double> r) {
    const Vec<double> one(1.0), t = r / (one + sqrt((one - r) * (one + r)));
    return (t + t) * horner(t * t, 0x1p0, -0x1.555555555555p-2, 0x1.999999999916ep-3,
                            -0x1.24924924675b3p-3, 0x1.c71c71b838072p-4, -0x1.745d15b31df57p-4,
                            0x1.3b13950e9aed9p-4, -0x1.110fb05fc0106p-4, 0x1.e1c8e3cdb8569p-5,
                            -0x1.ae802207ecdf1p-5, 0x1.82c1880867899p-5, -0x1.573fef79dc998p-5,
                            0x1.215af49a6e6b9p-5, -0x1.b01dc5f633743p-6, 0x1.0183859d99a21p-6,
                            -0x1.a316c722e3248p-8, 0x1.52ffbeab9351dp-10);
}
MERCER_INLINE Vec<double> normal_mass(Vec<double> x) { return normal_cdf(x); }

MERCER_INLINE Vec<double> bivariate_moderate(Vec<double> h, Vec<double> k, Vec<double> rho) {
    const Vec<double> one(1.0), half(0.5), hk = h * k, hs = fma(h, h, k * k) * half;
    const Vec<double> angle = asin_moderate(rho) * half;
    Vec<double> sum(0.0);
    for (int i = 0; i < 10; ++i)
        for (int side = -1; side <= 1; side += 2) {
            const double x = side * gauss<false>(i);
            const Vec<double> s = sin(fma(angle, Vec<double>(x), angle));
            const Vec<double> f = exp((s * hk - hs) / ((one - s) * (one + s)));
            sum = fma(f, Vec<double>(gauss<true>(i)), sum);
        }
    return fma(sum * angle, Vec<double>(0.15915494309189533577), normal_mass(h) * normal_mass(k));
}

MERCER_INLINE Vec<double> bivariate_strong(Vec<double> x, Vec<double> y, Vec<double> rho) {
    const Vec<double> zero(0.0), one(1.0), half(0.5), limit(-100.0);
    const auto against = rho < zero;
    const Vec<double> h = -x, k = select(against, y, -y), hk = h * k;
    const Vec<double> as = (one - rho) * (one + rho), b = abs(h - k), bs = b * b;
    const Vec<double> c = (Vec<double>(4.0) - hk) * Vec<double>(0.125);
    const Vec<double> d = (Vec<double>(12.0) - hk) * Vec<double>(0.0625);
    const Vec<double> third(1.0 / 3), fifth(0.2), d5 = one - d * bs * fifth;
    const Vec<double> root = sqrt(as);
    const auto weight = [&](Vec<double> xs) MERCER_STEP {
        const Vec<double> e = (bs / xs + hk) * -half;
        return select(e > limit, exp(e), zero);
    };
    Vec<double> v =
        root * weight(as) * (one - c * (bs - as) * d5 * third + c * d * as * as * fifth);
    const Vec<double> edge = exp(clamp_high(hk * -half, 50.0)) *
                             Vec<double>(2.50662827463100050242) * normal_mass(-b / root) * b *
                             (one - c * bs * d5 * third);
    v = v - select(hk > limit, edge, zero);
    for (int i = 0; i < 10; ++i)
        for (int side = -1; side <= 1; side += 2) {
            const double node = side * gauss<false>(i);
            const Vec<double> r = root * Vec<double>(0.5 * (1 + node)), xs = r * r;
            const Vec<double> rs = sqrt(one - xs), q = one + rs;
            const Vec<double> e = exp(clamp_high(hk * xs * -half / (q * q), 600.0)) / rs;
            const Vec<double> f = weight(xs) * (e - (one + c * xs * (one + d * xs)));
            v = fma(root * f, Vec<double>(0.5 * gauss<true>(i)), v);
        }
    v = select(as > zero, v * Vec<double>(0.15915494309189533577), zero);
    const Vec<double> with = normal_mass(-select(h > k, h, k)) - v;
    const Vec<double> gap =
        select(h < zero, normal_mass(k) - normal_mass(h), normal_mass(-h) - normal_mass(-k));
    return select(against, select(k > h, v + gap, v), with);
}

template <class T>
MERCER_OUTLINE Vec<double> bivariate_normal_cdf_for(Vec<double> h, Vec<double> k, Vec<double> rho) {
    const Vec<double> zero(0.0), one(1.0), x = held(h), y = held(k);
    const auto strong = abs(rho) > Vec<double>(0.925);
    const Vec<double> r = select(strong, zero, rho);
    Vec<double> p = bivariate_moderate(x, y, r);
    if (any(strong)) p = select(strong, bivariate_strong(x, y, rho), p);
    p = select(p > zero, p, select(is_nan(p), p, zero));
    return select(abs(rho) <= one && !is_nan(h) && !is_nan(k), p, quiet_nan<double>());
}
/// e^(−(h² − 2ρhk + k²)/2(1 − ρ²))/(2π √(1 − ρ²)), with h² − 2ρhk + k² = (h − ρk)² + (1 − ρ²)k².
template <class T>
MERCER_OUTLINE Vec<double> bivariate_normal_pdf_for(Vec<double> h, Vec<double> k, Vec<double> rho) {
    h = held(h), k = held(k);
    const Vec<double> zero(0.0), one(1.0), s = (one - rho) * (one + rho), e = fma(-rho, k, h);
    const Vec<double> q = fma(k, k, select(e == zero, zero, e * e / s)) * Vec<double>(-0.5);
    const Vec<double> p = exp(q) * Vec<double>(0.15915494309189533577);
    return select(p == zero && s == zero, zero, p / sqrt(s));  // at |ρ| = 1 all is on h = ρk
}

MERCER_IN_DOUBLE(bivariate_normal_cdf)
MERCER_IN_DOUBLE(bivariate_normal_pdf)
/// p = φ₂, s = 1 − ρ²: ∂p/∂h = −p (h − ρk)/s, ∂p/∂ρ = p (ρ + (h − ρk)(k − ρh)/s)/s
template <class V>
MERCER_INLINE Dual<V> bivariate_normal_pdf(Dual<V> h, Dual<V> k, Dual<V> rho) {
    const V one(typename V::Scalar(1)), p = bivariate_normal_pdf(h.v, k.v, rho.v);
    const V r = minimum(one / ((one - rho.v) * (one + rho.v)), V(typename V::Scalar(0x1p110)));
    const V x = held(h.v), z = held(k.v), u = x - rho.v * z, v = z - rho.v * x;
    Dual<V> y(p);
    follow(y, h, [&] { return -p * r * u; });
    follow(y, k, [&] { return -p * r * v; });
    follow(y, rho, [&] { return p * r * (rho.v + u * v * r); });
    return y;
}
template <class V>
MERCER_INLINE Dual<V> bivariate_normal_cdf(Dual<V> h, Dual<V> k, Dual<V> rho) {
    const V one(typename V::Scalar(1)), most(typename V::Scalar(0x1p110));  // at |ρ| = 1
    const V r = minimum(one / sqrt((one - rho.v) * (one + rho.v)), most);
    const V x = held(h.v), z = held(k.v);
    Dual<V> y(bivariate_normal_cdf(h.v, k.v, rho.v));
    follow(y, h, [&] { return normal_pdf(x) * normal_cdf((z - rho.v * x) * r); });
    follow(y, k, [&] { return normal_pdf(z) * normal_cdf((x - rho.v * z) * r); });
    follow(y, rho, [&] { return bivariate_normal_pdf(h.v, k.v, rho.v); });
    return y;
}

}  // namespace mercer::MERCER_ISA
