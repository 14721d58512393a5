// The ceiling of everything that multiplies: a ← a·b + c in twelve chains, held in registers.
#include "engine/simd/vec.h"

namespace mercer::MERCER_ISA {

/// Does `rounds` rounds on `from`; returns how many flops one round is.
using FmaChains = int (*)(int64_t rounds, float* from);

static int fma_chains(int64_t rounds, float* from) {
    constexpr int chains = 12;
    using V = Vec<float>;
    const V b(0.999f), c(1e-4f);
    V a[chains];
    for (int k = 0; k < chains; ++k) a[k] = V(from[k]);
    for (int64_t i = 0; i < rounds; ++i)
        for (int k = 0; k < chains; ++k) a[k] = fma(a[k], b, c);
    for (int k = 1; k < chains; ++k) a[0] = a[0] + a[k];
    a[0].store(from);
    return 2 * chains * V::lanes;
}

extern const FmaChains bench_fma;
const FmaChains bench_fma = fma_chains;

}  // namespace mercer::MERCER_ISA
