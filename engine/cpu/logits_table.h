// Kernels of logits on one instruction set: what stands on Σ exp; rows of n contiguous elements.
// [f32, f64]
#pragma once

#include "engine/cpu/tile_ahead.h"

namespace mercer::cpu {

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
