// Kernels of scans on one instruction set.
#pragma once

#include <cstdint>

namespace mercer::cpu {

enum class Scan { sum, prod, max, min };

/// n steps along each of `count` lines, `inner` elements from one to the next.
struct ScanArgs {
    const void* x;
    int64_t n, inner = 1, count = 1;
    bool exclusive = false, reverse = false;
    void* out = nullptr;
    const void* a = nullptr;   // recurrence: the factors, with x what is added
    int64_t a_inner = 1;       // from one of their steps to the next
    int64_t* index = nullptr;  // running: the last step at which x was the extremum, or NaN
    int64_t out_inner = 0;     // turned: from a row of the results to the next
    /// Rows and turned (an array), but of products of floats: what comes before, added to all; then replaced by the join of
    /// it and all elements. With `first` nothing comes before.
    void* carry = nullptr;
    bool first = true;
    /// Columns, turned: whole registers go past the caches; out and its rows begin at a line. Planes: only out does.
    bool stream = false;
};
using ScanFn = void (*)(const ScanArgs&);

/// At most so many columns, and so many rows side by side in memory.
inline constexpr int64_t columns_together = 256, turned_rows = 128;

/// Planes, n × inner, dense, of at most so many columns, step by step: rows of n are planes of one. Of lines of at most
/// step_together elements several go past the caches together, if the first begins at a line of memory.
inline constexpr int64_t plane_columns = 16, step_together = 128;

/// One formula along `count` dense planes, one after the other; along `count` neighbouring columns; along rows that lie
/// side by side.
struct ScanSteps {
    ScanFn planes, columns, turned;
};

struct ScanTable {
    /// Whole rows one after the other, without a carry; or a part of one with it, and out may be null.
    ScanFn rows[4][4];        // [Scan][f32, f64, i32, i64], but products of floats
    ScanSteps joins[2][4];    // sum, prod
    ScanSteps running[2][4];  // max, min
    ScanSteps recurrence[2];  // [f32, f64]
    /// index[k] = x[k] is y[k], or NaN ? first + k : none
    void (*standing[4])(const void* x, const void* y, int64_t n, int64_t first, int64_t none,
                        int64_t* index);
};

}  // namespace mercer::cpu
