// tanh.
//
// |x| < 0.54930615, just above artanh ½ (below it an error of the other form counts twice):
// x + x³ P(x²), P minimax of degree 4 (float, 2^-29.7) or 10 (double, 2^-60.6). Above,
// 1 − 2 / (e^2|x| + 1), where the subtrahend is at most ½ and its error counts half; where it rounds to 1,
// |x| may be held at 10 (float) or 20 (double). Both are computed and selected; the sign is put back last.
//
// Largest error measured (as in exp.h), ULP: 1.334 (float), 1.33 (double).
#pragma once

#include "engine/simd/math/exp.h"

namespace mercer::MERCER_ISA {

MERCER_INLINE Vec<float> tanh_polynomial(Vec<float> z) {
    return horner(z, -0x1.55554ap-2f, 0x1.110d02p-3f, -0x1.b923e8p-5f, 0x1.591ed2p-6f,
                  -0x1.9aa42p-8f);
}
MERCER_INLINE Vec<double> tanh_polynomial(Vec<double> z) {
    return horner(z, -0x1.555555555554fp-2, 0x1.11111111107a3p-3, -0x1.ba1ba1b97e662p-5,
                  0x1.664f4859b9e99p-6, -0x1.226e2f2024249p-7, 0x1.d6d29db81a10ep-9,
                  -0x1.7d8ff23f2cdbdp-10, 0x1.3484c0b98c761p-11, -0x1.e97b7af2d5817p-13,
                  0x1.5d9808a652643p-14, -0x1.476e067a6f4fap-16);
}

template <class T>
MERCER_INLINE Vec<T> tanh(Vec<T> x) {
    const Vec<T> one(T(1)), a = abs(x), z = x * x;
    const Vec<T> small = fma(a * z, tanh_polynomial(z), a);
    const Vec<T> b = clamp_high(a, T(sizeof(T) == 4 ? 10 : 20));
    const auto e = exp_parts(b + b);
    const Vec<T> large = one - Vec<T>(T(2)) / fma(e.scale, e.q, e.scale + one);
    return as_float(as_int(select(a < Vec<T>(T(0.54930615)), small, large)) | sign_bit(x));
}

}  // namespace mercer::MERCER_ISA
