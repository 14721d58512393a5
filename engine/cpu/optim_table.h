// Kernels of optimiser steps on one instruction set. [f32, f64]
#pragma once

#include <cstdint>

#include "engine/export.h"

namespace mercer::cpu {

struct AdamConstants {
    double beta1, beta2, epsilon;
    double step;        // lr / (1 − β₁ᵗ)
    double correction;  // 1 / √(1 − β₂ᵗ)
};

struct OptimTable {
    void (*adam[2])(void* p, const void* g, void* m, void* v, int64_t n, const AdamConstants& c);
};

/// One Adam update of n contiguous elements, in parallel.
MERCER_API void adam_step(bool wide, void* p, const void* g, void* m, void* v, int64_t n,
                          const AdamConstants& c);

}  // namespace mercer::cpu
