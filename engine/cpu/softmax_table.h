// Kernels of the softmax on one instruction set; rows of n contiguous elements. [f32, f64]
#pragma once

#include "engine/cpu/tile_ahead.h"

namespace mercer::cpu {

struct SoftmaxTable {
    /// y = exp(x − max x) / Σ exp(x − max x), for `rows` rows
    void (*forward[2])(const void* x, void* y, int64_t rows, int64_t n);
    /// dx = y·(g − Σ g·y); `stream`: past the caches, rows of dx start at multiples of 64 bytes
    void (*backward[2])(const void* y, const void* g, void* dx, int64_t rows, int64_t n,
                        bool stream);
    /// The same of the columns of dense tiles, n × columns: y in the place of x, dx in that of g.
    void (*forward_tile[2])(void* x, int64_t n, int64_t columns, const TileAhead& next);
    void (*backward_tile[2])(const void* y, void* g, int64_t n, int64_t columns,
                             const TileAhead& next);
};

}  // namespace mercer::cpu
