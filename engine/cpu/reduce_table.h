// Kernels of reductions on one instruction set.
#pragma once

#include <cstdint>

namespace mercer::cpu {

/// `count` results, result k from n elements: x + k·step + i·stride. A run has stride 1, columns have step 1.
struct ReduceArgs {
    const void* x;
    int64_t n, stride, count, step;
    void* out;  // result k at out + k·out_step
    int64_t out_step;
    void* extra;  // a second result, laid out alike: see each table
};

/// How many rows of few columns, dense, are met as one long row: registers are full then. Not of few, for the long row is
/// joined in the end.
inline constexpr int long_row = 128;
constexpr int64_t joined_rows(const ReduceArgs& args) {
    if (args.stride != args.count || 4 * args.count > long_row) return 1;
    const int64_t rows = long_row / args.count;
    return args.n >= 8 * rows ? rows : 1;
}

struct ReduceKernel {
    void (*run)(const ReduceArgs&);
    void (*columns)(const ReduceArgs&);
    /// Elements of a plane, up to which many are met together: few columns take longer.
    int most_together = 1024;
};

enum class Reduction { sum, max, min, prod, sum_abs, sum_square, max_abs };
enum class Counting { any, all, count };
enum class Extremum { max, min };

/// The join of all elements, in canonical order.   [Reduction][f32, f64, i32, i64]; the last three: f32, f64
struct ReduceTable {
    ReduceKernel kernels[7][4];
};
/// Of elements that are not zero: whether there are any, all are, how many (i64).   [Counting][DType]
struct CountTable {
    ReduceKernel kernels[3][5];
};
/// The first index (i64) of the extremum, which `extra`, if any, holds itself; NaN wins.   [Extremum][f32, f64, i32, i64]
struct ArgTable {
    ReduceKernel kernels[2][4];
};
/// Σ(x − m)², m the mean of at most variance_chunk elements; in `extra`, if any, twice as many: a p near m, and m − p.
/// [f32, f64]
inline constexpr int64_t variance_chunk = 512;  // a lane's stay in registers
struct VarianceTable {
    ReduceKernel kernels[2];
};

}  // namespace mercer::cpu
