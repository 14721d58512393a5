// Kernels of the softmax, of its logarithm and of logits on one instruction set; rows of n contiguous elements.
#pragma once

#include "engine/cpu/copy_table.h"

namespace mercer::cpu {

/// [softmax, logarithm][f32, f64]
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

/// What stands on Σ exp.   [f32, f64]
struct LogitsTable {
    /// Of each row: top = max x (0 where not finite), sum = Σ exp(x − top), log_sum, and total =
    /// Σ (x − top) unless null. One read of memory.
    void (*sums[2])(const void* x, void* top, void* sum, void* log_sum, void* total, int64_t rows,
                    int64_t n);
    /// dx = w·(exp(x − top)/sum − share), at the element `label` of a row w·(… − pick); w by row.
    /// Zeros where the label is negative or the sum is 0. Without labels neither share nor pick.
    void (*gradient[2])(const void* x, const void* top, const void* sum, const void* w,
                        const int64_t* label, void* dx, int64_t rows, int64_t n, double share,
                        double pick, bool stream);
    /// sums without total of the columns of dense tiles, n × columns.
    void (*sums_tile[2])(const void* x, void* top, void* sum, void* log_sum, int64_t n,
                         int64_t columns, const TileAhead& next);
};

}  // namespace mercer::cpu
