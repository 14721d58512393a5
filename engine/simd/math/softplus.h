// log(1 + e^-a) for a ≥ 0: what softplus adds to max(x, 0).
//
// e = e^-a ≤ 1, s = e/(2 + e) ≤ 1/3: log(1 + e) = e − (e²/2 − s (e²/2 + s² L(s²))), the series of
// 2 atanh s, L of degree 4 (float, relative error 2^-26) or 9 (double, 2^-52; fits at Chebyshev's
// points, made with mpmath) where it gives at most a twentieth of the result. No exponent is taken
// apart.
#pragma once

#include "engine/simd/math/exp.h"

namespace mercer::MERCER_ISA {

MERCER_INLINE Vec<float> log1p_unit_polynomial(Vec<float> z) {
    return horner(z, 0x1.555556p-1f, 0x1.9998d4p-2f, 0x1.24c926p-2f, 0x1.bc8cf8p-3f,
                  0x1.dba25fp-3f);
}
MERCER_INLINE Vec<double> log1p_unit_polynomial(Vec<double> z) {
    return horner(z, 0x1.5555555555555p-1, 0x1.999999999a3ddp-2, 0x1.24924923d44c6p-2,
                  0x1.c71c727143318p-3, 0x1.745cf0b0e03bdp-3, 0x1.3b18b294bebf9p-3,
                  0x1.10ac75dc602b1p-3, 0x1.eb905e8575054p-4, 0x1.687a6e7c95176p-4,
                  0x1.4b0a26c5f2aefp-3);
}

template <class T>
MERCER_INLINE Vec<T> log1p_exp_neg(Vec<T> a) {
    // A square that does not count would be subnormal, and slow on some processors.
    const Vec<T> e = exp(-a), least(sizeof(T) == 4 ? T(0x1p-40) : T(0x1p-80)),
                 f = select(e < least, Vec<T>(T(0)), e), s = f / (f + Vec<T>(T(2))), z = s * s,
                 half = Vec<T>(T(0.5)) * f * f;
    return e - (half - s * fma(z, log1p_unit_polynomial(z), half));
}

}  // namespace mercer::MERCER_ISA
