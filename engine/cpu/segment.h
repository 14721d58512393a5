// Segments of rows (segment_table.h): their kernels over all threads, and the sort that makes segments of numbers.
// Every segment is one thread's, so that the bits do not depend on their number.
#pragma once

#include <cstdint>

#include "engine/cpu/reduce.h"

namespace mercer::cpu {

/// `count` segments over `entries` places; see Segments in segment_table.h.
struct SegmentList {
    const int64_t *offsets, *row;
    int64_t count, entries;
};

/// Rows of `width` elements, dense; f64 or f32 as `out` is. mean: divided by the number of rows, where there are any.
void segment_reduce(Reduction op, const SegmentList& list, const void* x, int64_t width,
                    double empty, DType dtype, void* out, bool mean = false);
/// The same of products with rows of x, b: false, and `out` is not to be used, if list.row names one outside [0, rows).
bool segment_product(const SegmentList& list, const void* w, const void* x, int64_t rows,
                     int64_t width, DType dtype, void* out);
bool segment_dots(const SegmentList& list, const void* a, const void* b, int64_t rows,
                  int64_t width, DType dtype, void* out);
/// y = softmax of x over each segment; with g (and no `row`): y·(g − Σ g·y), where x is that softmax.
void segment_softmax(const SegmentList& list, const void* x, const void* g, int64_t width,
                     DType dtype, void* y);

/// order: the places k of ids (in [0, n)), by ids[k], equal ones in ascending k; offsets[i]: where id i begins, n + 1 of
/// them. A counting sort: two passes over ids, on all threads.
void sort_ids(const int64_t* ids, int64_t count, int64_t n, int64_t* offsets, int64_t* order);

/// Whether list[0…count) never falls.
bool ascending(const int64_t* list, int64_t count);
/// The first k with ids[k] outside [0, n), or `count`.
int64_t first_outside(const int64_t* ids, int64_t count, int64_t n);
/// Whether all are inside, by this thread.
bool within(const int64_t* ids, int64_t count, int64_t n);

}  // namespace mercer::cpu
