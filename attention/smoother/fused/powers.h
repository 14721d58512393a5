// 2^x as softmax takes it.
#pragma once

#include "engine/cpu/kernels/row.h"

namespace mercer::MERCER_ISA {
namespace {

/// P with 2^r = 1 + r P(r), |r| ≤ ½: minimax of degree 5 (float, relative error 2^-28.5) or 11 (double,
/// 2^-63.9).
MERCER_INLINE Vec<float> exp2_polynomial(Vec<float> r) {
    return horner(r, 0x1.62e432p-1f, 0x1.ebfbe2p-3f, 0x1.c6ae72p-5f, 0x1.3b270ep-7f,
                  0x1.5f7278p-10f, 0x1.470b52p-13f);
}
MERCER_INLINE Vec<double> exp2_polynomial(Vec<double> r) {
    return horner(r, 0x1.62e42fefa39efp-1, 0x1.ebfbdff82c58fp-3, 0x1.c6b08d704a0d6p-5,
                  0x1.3b2ab6fba4ea8p-7, 0x1.5d87fe78a130ep-10, 0x1.430912f859935p-13,
                  0x1.ffcbfc7ac325dp-17, 0x1.62c0229a68600p-20, 0x1.b524d0eaf3f55p-24,
                  0x1.e4cd9d76cb9d1p-28, 0x1.ea142231a29c4p-32, 0x1.c6d9a73db8e27p-36);
}

/// 2^x, within 1 ULP, for x ≤ 127 (double: 1023). Where that is no normal number, 0: what ends there in
/// any case (padding and hidden scores, −∞) does not underflow, which costs processors more than a hundred
/// cycles. NaN stays NaN. If `normal`, x is known not to be that small: the same bits.
template <bool normal = false, class T>
MERCER_INLINE Vec<T> power(Vec<T> x) {
    const Vec<T> one(T(1)), least(T(1 - Format<T>::bias));
#if MERCER_SIMD == MERCER_SIMD_AVX512
    // r is what nearest integers leave; the mask comes at the end, for little.
    constexpr int nearest = _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC;
    if constexpr (sizeof(T) == 4) {
        const Vec<T> r(_mm512_reduce_ps(x.v, nearest)), p = fma(r, exp2_polynomial(r), one);
        const auto seen = _mm512_cmp_ps_mask(x.v, least.v, _CMP_NLT_UQ);
        return normal ? _mm512_scalef_ps(p.v, (x - r).v)
                      : _mm512_maskz_scalef_ps(seen, p.v, (x - r).v);
    } else {
        const Vec<T> r(_mm512_reduce_pd(x.v, nearest)), p = fma(r, exp2_polynomial(r), one);
        const auto seen = _mm512_cmp_pd_mask(x.v, least.v, _CMP_NLT_UQ);
        return normal ? _mm512_scalef_pd(p.v, (x - r).v)
                      : _mm512_maskz_scalef_pd(seen, p.v, (x - r).v);
    }
#else
    const Vec<T> zero(T(0));
    const Mask<T> gone = x < least;
    const Vec<T> some = normal ? x : select(gone, zero, x), n = round_small(some), r = some - n,
                 y = fma(r, exp2_polynomial(r), one) * power_of_two(n);
    return normal ? y : select(gone, zero, y);
#endif
}

}  // namespace
}  // namespace mercer::MERCER_ISA
