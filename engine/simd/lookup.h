// A table of sixteen words that stays in registers.
#pragma once

#include "engine/simd/vec.h"

namespace mercer::MERCER_ISA {

/// table[k mod 16], lane by lane.
MERCER_INLINE Vec<int32_t> lookup(const int32_t (&table)[16], Vec<int32_t> k) {
#if MERCER_SIMD == MERCER_SIMD_AVX512
    const auto words = reinterpret_cast<__m512i>(native::load(table));
    return reinterpret_cast<native::Register<int32_t>>(
        _mm512_maskz_permutexvar_epi32(-1, reinterpret_cast<__m512i>(k.v), words));
#elif MERCER_SIMD == MERCER_SIMD_AVX2
    const auto of = [&](const int32_t* half) MERCER_STEP {
        return _mm256_permutevar8x32_ps(_mm256_loadu_ps(reinterpret_cast<const float*>(half)),
                                        reinterpret_cast<__m256i>(k.v));
    };
    return reinterpret_cast<native::Register<int32_t>>(
        _mm256_blendv_ps(of(table), of(table + 8), reinterpret_cast<__m256>(shift_left<28>(k).v)));
#elif MERCER_SIMD == MERCER_SIMD_NEON
    const uint8x16x4_t words = vld1q_u8_x4(reinterpret_cast<const uint8_t*>(table));
    const Vec<int32_t> bytes = (k & Vec<int32_t>(15)) * Vec<int32_t>(0x04040404);
    return reinterpret_cast<native::Register<int32_t>>(
        vqtbl4q_u8(words, vreinterpretq_u8_s32((bytes + Vec<int32_t>(0x03020100)).v)));
#else
    return table[k.v & 15];
#endif
}

}  // namespace mercer::MERCER_ISA
