// The α-entmax's slope in α. With ε = α − 1, ℓ = log p, H = Σ pℓ and 1 + e = p^{−ε}/Σ p^{1−ε}:
//   ∂p/∂α = p·((1 + e)·H − ℓ − e/ε)/ε;  ε → 0: p·(Σ pℓ² − ℓ²)/2.
#pragma once

#include "engine/cpu/kernels/row.h"

namespace mercer::MERCER_ISA {
namespace {

template <class T>
struct AlphaSlope {
    Vec<T> eps;
    bool limit, steep;
    Vec<T> lowest;      // for ε > 1: log of the least p, whose power is the largest
    Vec<T> h, mean, k;  // H; Σ p·(p^{−ε} − 1), in the limit Σ pℓ²; log Σ p^{1−ε}

    MERCER_INLINE explicit AlphaSlope(T epsilon, T least = T(1))
        : eps(epsilon),
          limit(epsilon < (sizeof(T) == 4 ? T(0x1p-11) : T(0x1p-26))),
          steep(epsilon > T(1)),
          lowest(log(Vec<T>(least))) {}

    static MERCER_INLINE Vec<T> logarithm(Vec<T> p) {
        return log(select(p == Vec<T>(T(0)), Vec<T>(T(1)), p));
    }
    /// The terms of a row's H and mean.
    MERCER_INLINE void add(Vec<T> p, Vec<T>& h_part, Vec<T>& mean_part) const {
        const Vec<T> l = logarithm(p);
        h_part = fma(p, l, h_part);
        if (steep)
            mean_part =
                mean_part + select(p == Vec<T>(T(0)), p, exp((l - lowest) * (Vec<T>(T(1)) - eps)));
        else
            mean_part = fma(p, limit ? l * l : expm1(-eps * l), mean_part);
    }
    MERCER_INLINE void set(T entropy, T second) {
        h = Vec<T>(entropy), mean = Vec<T>(second);
        k = limit ? Vec<T>(T(0)) : steep ? fma(Vec<T>(T(1)) - eps, lowest, log(mean)) : log1p(mean);
    }
    /// ∂p/∂α over p.
    MERCER_INLINE Vec<T> operator()(Vec<T> p) const {
        const Vec<T> l = logarithm(p);
        if (limit) return (mean - l * l) * Vec<T>(T(0.5));
        const Vec<T> e = expm1(-eps * l - k);
        return ((Vec<T>(T(1)) + e) * h - l - e / eps) / eps;
    }
};

}  // namespace
}  // namespace mercer::MERCER_ISA
