// Philox blocks of consecutive counters, one in each 64-bit lane: the numbers of engine/philox.h.
// The low half of a lane is a word; the high half may hold anything.
#pragma once

#include "engine/cpu/kernels/turn.h"
#include "engine/philox.h"

namespace mercer::MERCER_ISA {

/// Blocks that philox_run makes at once.
inline constexpr int philox_lanes = Vec<int64_t>::lanes;

#if MERCER_SIMD == MERCER_SIMD_SCALAR

MERCER_INLINE void philox_run(uint32_t* words, uint64_t counter, uint64_t stream, uint64_t seed) {
    const Philox p(uint32_t(counter), uint32_t(counter >> 32), uint32_t(stream),
                   uint32_t(stream >> 32), uint32_t(seed), uint32_t(seed >> 32));
    for (int k = 0; k < 4; ++k) words[k] = p.c[k];
}

#else

/// The product of the low halves.
MERCER_INLINE Vec<int64_t> product_of_words(Vec<int64_t> a, uint32_t b) {
#if MERCER_SIMD == MERCER_SIMD_AVX512
    return reinterpret_cast<native::Register<int64_t>>(
        _mm512_mul_epu32(reinterpret_cast<__m512i>(a.v), _mm512_set1_epi64(int64_t(b))));
#elif MERCER_SIMD == MERCER_SIMD_AVX2
    return reinterpret_cast<native::Register<int64_t>>(
        _mm256_mul_epu32(reinterpret_cast<__m256i>(a.v), _mm256_set1_epi64x(int64_t(b))));
#else
    return reinterpret_cast<native::Register<int64_t>>(
        vmull_u32(vmovn_u64(reinterpret_cast<uint64x2_t>(a.v)), vdup_n_u32(b)));
#endif
}

/// The words of blocks counter, counter + 1, …, in order.
MERCER_INLINE void philox_run(uint32_t* words, uint64_t counter, uint64_t stream, uint64_t seed) {
    using Lanes = Vec<int64_t>;
    static constexpr int64_t steps[8] = {0, 1, 2, 3, 4, 5, 6, 7};
    Lanes c0 = Lanes(int64_t(counter)) + Lanes::load(steps), c1 = shift_right_logical<32>(c0),
          c2 = Lanes(int64_t(stream)), c3 = Lanes(int64_t(stream >> 32));
    uint32_t k0 = uint32_t(seed), k1 = uint32_t(seed >> 32);
#pragma GCC unroll 10
    for (int round = 0; round < 10; ++round) {
        const Lanes p = product_of_words(c0, Philox::factor0),
                    q = product_of_words(c2, Philox::factor1);
        c0 = shift_right_logical<32>(q) ^ c1 ^ Lanes(int64_t(k0));
        c2 = shift_right_logical<32>(p) ^ c3 ^ Lanes(int64_t(k1));
        c1 = q;
        c3 = p;
        k0 += Philox::weyl0;
        k1 += Philox::weyl1;
    }
    const Lanes word = int64_t(0xffffffff), low = (c0 & word) | shift_left<32>(c1),
                high = (c2 & word) | shift_left<32>(c3);
    constexpr std::make_integer_sequence<int, philox_lanes> places;
    const Lanes first = interleaved<0>(low, high, places),
                second = interleaved<philox_lanes / 2>(low, high, places);
    __builtin_memcpy(words, &first.v, sizeof first.v);
    __builtin_memcpy(words + 2 * philox_lanes, &second.v, sizeof second.v);
}

#endif

}  // namespace mercer::MERCER_ISA
