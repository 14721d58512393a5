// A table of eight words that stays in registers.
#pragma once

#include "engine/simd/vec.h"

namespace mercer::MERCER_ISA {

/// table[k mod 8], lane by lane.
MERCER_INLINE Vec<int32_t> lookup(const int32_t (&table)[8], Vec<int32_t> k) {
    using R = native::Register<int32_t>;
#if MERCER_SIMD == MERCER_SIMD_AVX512
    const __m512i words =
        _mm512_maskz_broadcast_i64x4(-1, *reinterpret_cast<const __m256i_u*>(table));
    return R(_mm512_maskz_permutexvar_epi32(-1, __m512i(k.v), words));
#elif MERCER_SIMD == MERCER_SIMD_AVX2
    return R(_mm256_permutevar8x32_epi32(__m256i(native::load(table)), __m256i(k.v)));
#elif MERCER_SIMD == MERCER_SIMD_NEON
    const uint8x16x2_t words = vld1q_u8_x2(reinterpret_cast<const uint8_t*>(table));
    const R bytes = ((k & Vec<int32_t>(7)) * Vec<int32_t>(0x04040404) + Vec<int32_t>(0x03020100)).v;
    return R(vqtbl2q_u8(words, uint8x16_t(bytes)));
#else
    return table[k.v & 7];
#endif
}

}  // namespace mercer::MERCER_ISA
