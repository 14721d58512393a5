// Kernels of layer and root-mean-square normalisation on one instruction set; rows of n contiguous
// elements. [centred][f32, f64]
#pragma once

#include <cstdint>

namespace mercer::cpu {

struct NormTable {
    /// y = (x − mean)·scale·gain + bias, scale = 1/√(mean (x − mean)² + ε); mean and scale by row.
    void (*forward[2][2])(const void* x, const void* gain, const void* bias, void* y, void* mean,
                          void* scale, int64_t rows, int64_t n, double epsilon, bool stream);
    /// dx, and the sums of these rows for gain and bias (null: not wanted, both or none).
    void (*backward[2][2])(const void* x, const void* gain, const void* mean, const void* scale,
                           const void* g, void* dx, void* dgain, void* dbias, int64_t rows,
                           int64_t n, bool stream);
};

}  // namespace mercer::cpu
