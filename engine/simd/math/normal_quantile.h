// erfinv and the normal quantile Φ⁻¹.
//
// With w = −log(1 − x²), erfinv x = x (√π/2 + w Q(w)) for w ≤ 5, Q of degree 21 (double, 2^-57) or
// 9 (float, 2^-27), and s H(1/s), s = √w, beyond; H in pieces: s up to 4.05, 9 and 27.5 (double;
// degrees 20, 17, 19, 2^-54) or 4.05 and 10.2 (float; degree 8, 2^-29). All interpolate at Chebyshev
// points. Φ⁻¹(p) = √2 erfinv(2p − 1), the factor being taken into the coefficients; there 1 − x² =
// 4p(1 − p) has all its digits in both tails: p may be as small as the smallest subnormal. (The
// variable is that of M. Giles, Approximating the erfinv function, 2010.)
//
// Largest errors measured: docs/accuracy.md.
#pragma once

#include "engine/simd/math/exp.h"
#include "engine/simd/math/log.h"
#include "engine/simd/math/quarters.h"

namespace mercer::MERCER_ISA {

/// Horner's scheme with all coefficients times a constant.
template <class T, class... C>
MERCER_INLINE Vec<T> horner_times(Vec<T> x, double factor, double c0, C... c) {
    if constexpr (sizeof(T) == 8)
        return fma(x, horner_quarters(x, T(factor * c)...), Vec<T>(T(factor * c0)));
    else
        return horner(x, T(factor * c0), T(factor * c)...);
}
/// 1/s mapped to [−1, 1] over s₀ ≤ s ≤ s₁.
template <class T>
MERCER_INLINE Vec<T> piece(Vec<T> r, double s0, double s1) {
    const double a = 1 / s1, b = 1 / s0;
    return fma(r, Vec<T>(T(2 / (b - a))), Vec<T>(T(-(a + b) / (b - a))));
}

/// factor · Q at w = 2.5 (1 + u), |u| ≤ 1.
MERCER_INLINE Vec<float> erfinv_centre(Vec<float> u, double factor) {
    return horner_times(u, factor, 0x1.f7f51b6cd72fp-3, 0x1.296e767cbd5afp-11,
                        -0x1.68ccf8e08385ep-7, 0x1.a0f81f76d92b7p-9, 0x1.e2f1ee5253359p-13,
                        -0x1.bd2490a0dfa82p-12, 0x1.6c13236e386bbp-14, 0x1.cd2abe2933241p-16,
                        -0x1.d1ea5c33f4bfbp-17, 0x1.133a3e2ea5115p-22);
}
MERCER_INLINE Vec<double> erfinv_centre(Vec<double> u, double factor) {
    return horner_times(u, factor, 0x1.f7f51afdae3fep-3, 0x1.296e9642915a6p-11,
                        -0x1.68cb9d27c0f44p-7, 0x1.a0f690ed73b29p-9, 0x1.e036db0293318p-13,
                        -0x1.bcbf1e8f3a02dp-12, 0x1.7b89f24a7175ap-14, 0x1.bab3fd59e4793p-16,
                        -0x1.3150a4752be8fp-16, 0x1.b44e1bff1561ap-20, 0x1.ecc600a613d23p-20,
                        -0x1.752855ee3321ap-21, -0x1.8f4afa59f1148p-25, 0x1.b0fb638c4f3b2p-24,
                        -0x1.68d9256dbdbc6p-26, -0x1.f8ed6f7a47762p-28, 0x1.41416a37639c6p-28,
                        -0x1.23135bce24e61p-32, -0x1.281374040ca66p-31, 0x1.4ba4a85edd5b2p-33,
                        0x1.132d4c517e425p-35, -0x1.1f198d4f38f7ep-36);
}
/// factor · s H(1/s), s ≥ √5.
MERCER_INLINE Vec<float> erfinv_tail(Vec<float> s, double factor) {
    const Vec<float> r = Vec<float>(1.0f) / s;
    const Vec<float> near = horner_times(
        piece(r, 2.23, 4.1), factor, 0x1.e2546601bcea8p-1, -0x1.1d5a82442e62ep-6,
        0x1.0b072ae05420ep-9, 0x1.0a8ee970ae62bp-12, -0x1.98b7fa8ff456ap-14, -0x1.12980ac6a1719p-18,
        0x1.56380669e910dp-19, 0x1.7384c41d1606p-20, -0x1.8010e725d8971p-22);
    const Vec<float> far =
        horner_times(piece(r, 4, 10.2), factor, 0x1.f34c871313215p-1, -0x1.efa04c83f649ap-7,
                     -0x1.ef015340cc91ep-12, 0x1.9dfd03c8a1539p-12, -0x1.aab476d9a784fp-15,
                     0x1.eeb32464dd979p-18, -0x1.ba20666f569c9p-20, 0x1.1ab20375bb373p-21,
                     -0x1.40873b055c13bp-23);
    return s * select(s < Vec<float>(4.05f), near, far);
}
MERCER_INLINE Vec<double> erfinv_tail(Vec<double> s, double factor) {
    const Vec<double> r = Vec<double>(1.0) / s;
    Vec<double> h = horner_times(
        piece(r, 2.23, 4.1), factor, 0x1.e2546601bcea8p-1, -0x1.1d5a89c8c6422p-6,
        0x1.0b0744b6e205p-9, 0x1.0aa82ad779afbp-12, -0x1.98e3d0442bb42p-14, -0x1.29cba0c4db5f6p-18,
        0x1.6ae5a460a83afp-19, 0x1.f4f155c841d8bp-20, -0x1.3aa6c2b167eb6p-21, -0x1.03c1eaf849aep-22,
        0x1.2559b881feb6ep-23, 0x1.e143b1eb933ddp-27, -0x1.d2fa4ba2631eap-26, 0x1.72ab29e6253ebp-28,
        0x1.8e1b5eff438b3p-29, -0x1.0b32fe06bf2bdp-29, 0x1.c5b48a0e4cc7bp-33, 0x1.3cf3cd98162afp-32,
        -0x1.15d32e9ee06fp-33, -0x1.155c70fd63e3ap-36, 0x1.0c341a7f38452p-36);
    const Mask<double> far = s > Vec<double>(4.05), farthest = s > Vec<double>(9.0);
    if (any(far)) {
        const Vec<double> f =
            horner_times(piece(r, 4, 9.1), factor, 0x1.f2b19124dfb9p-1, -0x1.cafbd8f4de59cp-7,
                         -0x1.54191a2df3d88p-12, 0x1.37cac50086976p-12, -0x1.239f3b41f26dap-15,
                         0x1.2c340b12d48bcp-18, -0x1.dea4e6d935b63p-21, 0x1.c043cccd1b30bp-23,
                         -0x1.b9483d6845c56p-25, 0x1.c1b551905b8a3p-27, -0x1.0693899aa822cp-28,
                         0x1.bff2a0b5cbc4ap-31, -0x1.d79b28dc46b76p-32, 0x1.4eb9ea1aa7d73p-34,
                         0x1.2080b391f805cp-36, 0x1.dbc0bfa82868bp-36, -0x1.315bf4966f9dap-37,
                         -0x1.28fb4757abd76p-39);
        h = select(far, f, h);
    }
    if (any(farthest)) {
        const Vec<double> f =
            horner_times(piece(r, 8.9, 27.5), factor, 0x1.fc7c620885503p-1, -0x1.6f8b87128e4afp-8,
                         -0x1.775127e8ccde6p-11, 0x1.fd750f59fd983p-14, -0x1.0727b56e8fe6p-16,
                         0x1.ab1eff633a4e3p-19, -0x1.b91519a3e5addp-21, 0x1.01db444e1c8b9p-22,
                         -0x1.493458d91051ep-24, 0x1.c065f57f2b25p-26, -0x1.41246b4132a8cp-27,
                         0x1.dd67060ef1ff6p-29, -0x1.65844523be8bdp-30, 0x1.1839c747a0c4ap-31,
                         -0x1.0fdadb1d3dd38p-32, 0x1.c24fbc3b51035p-34, -0x1.bce3d743e655bp-38,
                         0x1.18f327f205ae7p-39, -0x1.3a30599fb4424p-36, 0x1.13513e3d6d008p-37);
        h = select(farthest, f, h);
    }
    return s * h;
}

/// −log t for e⁻⁵ ≤ t ≤ 1, with an error of an ULP of 1: it comes to c + w Q(w), c = 0.89 factor.
MERCER_INLINE Vec<float> minus_log(Vec<float> t) {
    const auto [m, k] = decompose(t);
    const Vec<float> f = m - Vec<float>(1.0f);
    return fma(k, Vec<float>(-Ln2<float>::high), fma(-f * f, log_polynomial(f), -f));
}
MERCER_INLINE Vec<double> minus_log(Vec<double> t) {
    const auto [m, k] = decompose(t);
    const Vec<double> f = m - Vec<double>(1.0), s = f / (f + Vec<double>(2.0)), z = s * s;
    const Vec<double> l = fma(z, log_polynomial(z), Vec<double>(2.0));
    return fma(k, Vec<double>(-Ln2<double>::high), -s * l);
}

/// factor · erfinv x from t = 1 − x².
template <class T>
MERCER_INLINE Vec<T> erfinv_times(Vec<T> x, Vec<T> t, double factor) {
    constexpr T least = T(0.00673794699908546710);  // e⁻⁵
    const Vec<T> c(T(0.88622692545275801365 * factor)), w = minus_log(clamp_low(t, least));
    const Mask<T> tail = !(t > Vec<T>(least));
    const Vec<T> u = fma(w, Vec<T>(T(0.4)), Vec<T>(T(-1)));
    Vec<T> y = x * fma(w, erfinv_centre(u, factor), c);
    if (any(tail)) {
        const Vec<T> s = sqrt(clamp_low(-log(t), T(5)));
        y = select(tail, copysign(erfinv_tail(s, factor), x), y);
    }
    return y;
}
template <class T>
MERCER_OUTLINE Vec<T> erfinv(Vec<T> x) {
    const Vec<T> one(T(1));
    return erfinv_times(x, (one - x) * (one + x), 1.0);
}
template <class T>
MERCER_OUTLINE Vec<T> normal_icdf(Vec<T> p) {
    const Vec<T> one(T(1)), x = fma(p, Vec<T>(T(2)), -one);
    return erfinv_times(x, (p * Vec<T>(T(4))) * (one - p), 1.41421356237309504880);
}

}  // namespace mercer::MERCER_ISA
