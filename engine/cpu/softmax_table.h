// Kernels of the softmax and of its logarithm on one instruction set; rows of n contiguous elements.
// [softmax, logarithm][f32, f64]
#pragma once

#include "engine/cpu/tile_ahead.h"

namespace mercer::cpu {

struct SoftmaxTable {
    /// y = exp(x − max x) / Σ exp(x − max x), for `rows` rows; or its logarithm, −∞ throughout a row of −∞
    void (*forward[2][2])(const void* x, void* y, int64_t rows, int64_t n);
    /// dx = y·(g − Σ g·y); or g − exp(y)·Σ g, and 0 where y = −∞. `stream`: past the caches
    void (*backward[2][2])(const void* y, const void* g, void* dx, int64_t rows, int64_t n,
                           bool stream);
    /// The same of the columns of dense tiles, n × columns: y in the place of x, dx in that of g.
    void (*forward_tile[2][2])(void* x, int64_t n, int64_t columns, const TileAhead& next);
    void (*backward_tile[2][2])(const void* y, void* g, int64_t n, int64_t columns,
                                const TileAhead& next);
};

}  // namespace mercer::cpu
