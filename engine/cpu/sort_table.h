// Kernels of sorting on one instruction set. An item is a key that orders like the element, with the element's index below
// it: 8 bytes for elements of 4, 16 for those of 8. No two are equal, so every algorithm gives the same order, a stable
// one. NaN comes last in either direction; −0 equals 0.
#pragma once

#include <cstdint>

namespace mercer::cpu {

constexpr int64_t longest_column = 512;  // of elements of 8 bytes; half of it of shorter ones

struct SortTable {
    struct Kernels {
        int item_bytes;
        /// Items of x[0, n), indices from `first` on, in order; in `items` or in `spare`, as returned.
        void* (*sort)(const void* x, int64_t n, int64_t first, bool descending, void* items,
                      void* spare);
        /// Items [begin, end) of a[0, na) and b[0, nb) merged, to out + begin.
        void (*merge)(const void* a, int64_t na, const void* b, int64_t nb, int64_t begin,
                      int64_t end, void* out);
        /// The first k of x[0, n) in order, to `items`; both buffers hold top_room(k) items. k ≤ n.
        void (*top)(const void* x, int64_t n, int64_t k, bool descending, void* items, void* spare);
        /// Elements (null: not wanted) and indices of sorted items; x: the row they came from.
        void (*write)(const void* items, int64_t n, const void* x, bool descending, void* values,
                      int64_t* indices);
        /// The first k of every column of a dense n × columns, to dense k × columns. n < longest_column. values: null, not wanted.
        void (*columns)(const void* x, int64_t n, int64_t columns, int64_t k, bool descending,
                        void* values, int64_t* indices);
    } kernels[4];  // f32, f64, i32, i64
};

constexpr int64_t top_room(int64_t k) { return 2 * k + 64; }

}  // namespace mercer::cpu
