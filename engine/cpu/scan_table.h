// Kernels of scans on one instruction set.
#pragma once

#include <cstdint>

namespace mercer::cpu {

enum class Scan { sum, prod, max, min };

struct ScanArgs {
    const void* x;
    int64_t n, inner;  // n steps; columns: `count` neighbours of a row of `inner` at once
    int64_t count;     // columns, planes; or so many whole rows of n, without a carry
    bool exclusive, reverse;
    void* out;  // null: only the carry is wanted (rows)
    /// Rows, but of products of floats: what comes before, added to all; then replaced by the join of it and all elements.
    void* carry;
    bool first;  // rows: nothing comes before
    /// Columns, turned: whole registers go past the caches; out and its rows begin at a line. Planes: only out does.
    bool stream = false;
    int64_t out_inner = 0;  // turned: from a row of the result to the next
};

/// Running extrema down columns, or planes one after the other, and where they stood.
inline constexpr int64_t columns_together = 256;  // at most
struct RunningArgs {
    const void* x;
    int64_t n, inner, count;  // n steps of `count` neighbours of rows of `inner`
    bool reverse;
    void* out;
    int64_t* index;         // the last step at which x was the extremum, or NaN
    bool stream;            // as above
    int64_t out_inner = 0;  // turned: from a row of the results to the next
};

struct RecurrenceArgs {
    const void *a, *b;
    int64_t n, a_inner, b_inner, count;  // columns, of n rows so far apart; or planes, n × a_inner
    bool reverse;
    void* out;
    int64_t out_inner;
    bool stream = false;  // as above
};

/// Rows side by side in memory, at most turned_rows: steps lie `inner` apart (a_inner, b_inner), rows of the result
/// `out_inner`; `carry` is an array.
inline constexpr int64_t turned_rows = 128;

/// Planes, n × inner, dense, of at most so many columns, step by step: rows of n are planes of one. Of lines of at most
/// step_together elements several go past the caches together, if the first begins at a line of memory.
inline constexpr int64_t plane_columns = 16, step_together = 128;

struct ScanTable {
    void (*rows[4][4])(const ScanArgs&);     // [Scan][f32, f64, i32, i64]
    void (*columns[2][4])(const ScanArgs&);  // sum, prod
    void (*planes[2][4])(const ScanArgs&);
    void (*rows_turned[2][4])(const ScanArgs&);  // sum, prod
    void (*running[2][4])(const RunningArgs&);   // max, min
    void (*running_turned[2][4])(const RunningArgs&);
    void (*running_planes[2][4])(const RunningArgs&);
    /// index[k] = x[k] is y[k], or NaN ? first + k : none
    void (*standing[4])(const void* x, const void* y, int64_t n, int64_t first, int64_t none,
                        int64_t* index);
    void (*recurrence_planes[2])(const RecurrenceArgs&);  // [f32, f64]
    void (*recurrence_columns[2])(const RecurrenceArgs&);
    void (*recurrence_turned[2])(const RecurrenceArgs&);
};

}  // namespace mercer::cpu
