// Kernels that fill positions [begin, begin + n) with random numbers, on one instruction set. [f32,
// f64]
#pragma once

#include <cstdint>

#include "engine/export.h"

namespace mercer::cpu {

struct RandomTable {
    void (*uniform[2])(void* out, int64_t begin, int64_t n, uint64_t seed, uint64_t stream,
                       double low, double high);
    void (*normal[2])(void* out, int64_t begin, int64_t n, uint64_t seed, uint64_t stream);
    /// y = x/(1 − p) where the position's f32 uniform is at least p, else 0; x and y at `begin`.
    void (*dropout[2])(const void* x, void* y, int64_t begin, int64_t n, uint64_t seed,
                       uint64_t stream, double p, bool past_caches);
};

/// Philox blocks are cut here: `begin` is a multiple of it.
inline constexpr int64_t random_block = 256;

}  // namespace mercer::cpu

namespace mercer {
MERCER_API const cpu::RandomTable& random_table();
}  // namespace mercer
