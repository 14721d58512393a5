// Kernels of reductions on one instruction set.
#pragma once

#include <cstdint>

namespace mercer::cpu {

struct ReduceTable {
    /// One run of n elements to one.   [sum, max, min][f32, f64]
    void (*run[3][2])(const void* x, int64_t n, void* out);
    /// n rows of `width` elements, `stride` apart, to one row.
    void (*columns[3][2])(const void* x, int64_t n, int64_t stride, int64_t width, void* out);
};

}  // namespace mercer::cpu
