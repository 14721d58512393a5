// Philox4x32-10: ten rounds of two 32×32 → 64 products. Constants: Salmon et al., "Parallel Random
// Numbers: As Easy as 1, 2, 3", SC 2011.
#pragma once

#include "engine/simd/isa.h"

namespace mercer::MERCER_ISA {

struct Philox {
    static constexpr uint32_t factor0 = 0xD2511F53u, factor1 = 0xCD9E8D57u, weyl0 = 0x9E3779B9u,
                              weyl1 = 0xBB67AE85u;
    uint32_t c[4];
    MERCER_INLINE Philox(uint32_t c0, uint32_t c1, uint32_t c2, uint32_t c3, uint32_t k0,
                         uint32_t k1)
        : c{c0, c1, c2, c3} {
        for (int round = 0; round < 10; ++round) {
            const uint64_t p = uint64_t(factor0) * c[0], q = uint64_t(factor1) * c[2];
            const uint32_t n0 = uint32_t(q >> 32) ^ c[1] ^ k0, n2 = uint32_t(p >> 32) ^ c[3] ^ k1;
            c[0] = n0, c[1] = uint32_t(q), c[2] = n2, c[3] = uint32_t(p);
            k0 += weyl0, k1 += weyl1;
        }
    }
};

}  // namespace mercer::MERCER_ISA
