// Kernels of scans on one instruction set.
#pragma once

#include <cstdint>

namespace mercer::cpu {

enum class Scan { sum, prod, max, min };

struct ScanArgs {
    const void* x;
    int64_t n, inner;  // n steps; columns: `count` neighbours of a row of `inner` at once
    int64_t count;     // columns; or so many whole rows of n, one after the other, without a carry
    bool exclusive, reverse;
    void* out;  // null: only the carry is wanted (rows)
    /// Rows, but of products of floats: what comes before, added to all; then replaced by the join of it and all elements.
    void* carry;
    bool first;  // rows: nothing comes before
    /// Columns, turned, rows of products of floats: whole registers go past the caches; out and its rows begin at a line.
    bool stream = false;
    int64_t out_inner = 0;  // turned: from a row of the result to the next
};

/// Running extrema down columns, and where they stood.
struct RunningArgs {
    const void* x;
    int64_t n, inner,
        count;  // n steps of `count` neighbours, at most running_columns, of rows of `inner`
    bool reverse;
    void* out;
    int64_t* index;  // the last step at which x was the extremum, or NaN
    bool stream;  // whole registers go past the caches; out, index and their rows begin at a line
    int64_t out_inner = 0;  // turned: from a row of the results to the next
};
inline constexpr int64_t running_columns = 256;

struct RecurrenceArgs {
    const void *a, *b;
    int64_t n, a_inner, b_inner, count;  // `count` rows of n; or columns, of n rows so far apart
    bool reverse;
    void* out;
    int64_t out_inner;
    bool stream = false;  // columns, turned: as above
};

/// Rows side by side in memory, at most turned_rows: steps lie `inner` apart (a_inner, b_inner), rows of the result
/// `out_inner`; `carry` is an array.
inline constexpr int64_t turned_rows = 128;

struct ScanTable {
    void (*rows[4][4])(const ScanArgs&);  // [Scan][f32, f64, i32, i64]
    void (*columns[4][4])(const ScanArgs&);
    void (*rows_turned[2][4])(const ScanArgs&);  // sum, prod
    void (*running[2][4])(const RunningArgs&);   // max, min
    void (*running_turned[2][4])(const RunningArgs&);
    /// `count` rows of n, one after the other, if they fill registers together; how many it took.
    int64_t (*running_dense[2][4])(const RunningArgs&);
    /// index[k] = x[k] is y[k], or NaN ? first + place[k] : none
    void (*standing[4])(const void* x, const void* y, int64_t n, int64_t first,
                        const int64_t* place, int64_t none, int64_t* index);
    void (*recurrence_rows[2])(const RecurrenceArgs&);  // [f32, f64]
    void (*recurrence_columns[2])(const RecurrenceArgs&);
    void (*recurrence_turned[2])(const RecurrenceArgs&);
};

}  // namespace mercer::cpu
