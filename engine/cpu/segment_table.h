// Kernels over segments of rows on one instruction set. Segment s is the rows k in [offsets[s], offsets[s + 1]).
// Rows are `width` elements, `stride` apart; `row` says which row stands at place k (null: row k). [f32, f64]
#pragma once

#include <cstdint>

namespace mercer::cpu {

/// What a kernel works on: segments [begin, end).
struct Segments {
    const int64_t* offsets;
    const int64_t* row;
    int64_t begin, end, width, stride;
    bool mean = false;    // `reduce` divides by the number of rows
    bool stream = false;  // `softmax` and its gradient write past the caches: rows of whole lines
};

struct SegmentTable {
    /// out[s] = Σ (max, min) x[row[k]], ascending in k; `empty` where there is none.  [sum, max, min]
    void (*reduce[3][2])(const Segments&, const void* x, double empty, void* out);
    /// out[s] = Σ w[k]·x[row[k]], an fma chain ascending in k from 0.
    void (*product[2])(const Segments&, const void* w, const void* x, void* out);
    /// out[k] = Σ_c a[s, c]·b[row[k], c], in the canonical order.
    void (*dots[2])(const Segments&, const void* a, const void* b, void* out);
    /// y[k] = exp(x[k] − m) / Σ exp(x[k] − m) over the segment, for each column by itself. `row` is not used.
    void (*softmax[2])(const Segments&, const void* x, void* y);
    /// dx[k] = y[k]·(g[k] − Σ g·y), as above.
    void (*softmax_backward[2])(const Segments&, const void* y, const void* g, void* dx);
    /// table[ids[k]] = table[ids[k]] ⊕ x[k] for `count` rows, in ascending k.  [sum, max, min]
    void (*join_by_id[3][2])(const int64_t* ids, int64_t count, int64_t width, const void* x,
                             void* table);
    /// y[k] = exp(x[k] − table[ids[k]]) for `count` rows, as many as fit the first-level cache; y[k] = x[k]·table[ids[k]].
    void (*exp_below[2])(const int64_t* ids, int64_t count, int64_t width, const void* x,
                         const void* table, void* y);
    void (*times_by_id[2])(const int64_t* ids, int64_t count, int64_t width, const void* x,
                           const void* table, void* y);
    /// Whether all ids are in [0, n).
    bool (*within)(const int64_t* ids, int64_t count, int64_t n);
};

}  // namespace mercer::cpu
