// Rows and elements picked and put by index. Arrays are dense: (outer, n, inner) on one side, (outer, size, inner) on the
// other, and ids in [0, size) say which place along `size` belongs to j < n. Memory traffic: what is picked or put, once.
#pragma once

#include <cstdint>

#include "engine/cpu/reduce_table.h"
#include "engine/types.h"

namespace mercer::cpu {

struct Indexed {
    int64_t outer, n, inner, size;
    const int64_t* ids;
    bool rows;  // ids (n), the same for every outer and inner; else (outer, n, inner)
};

/// to[o, j] = from[o, ids[j]], whole rows.
void pick_rows(const Indexed& a, DType dtype, const void* from, void* to);
/// to[o, j, c] = from[o, ids[o, j, c], c] by blocks of columns packed in cache; false, and nothing done, where that does not
/// pay.
bool pick_blocks(const Indexed& a, DType dtype, const void* from, void* to);
/// Whether put() and add_up() look at the ids themselves, while they are in cache; else all must lie in [0, size) before.
bool looks_at_ids(const Indexed& a);
/// to[o, ids[j]] = from[o, j]; of several the last stays. False, and some left out, if an id is outside.
[[nodiscard]] bool put(const Indexed& a, DType dtype, const void* from, void* to);
/// to[o, i] = from[o, j] for the last j with ids[j] = i, else x[o, i]: whole rows.
void put_rows(const Indexed& a, DType dtype, const void* x, const void* from, void* to);
/// to[o, ids[j]] += from[o, j], in ascending j, from 0 on: `to` need not be set before. As put() with ids outside.
[[nodiscard]] bool add_up(const Indexed& a, DType dtype, const void* from, void* to);

// Rows joined by number: sums, extrema, softmax over the rows of equal id, in no order of ids. Short rows go one after the
// other into a table; where there are many for its size, parts of them into tables of their own, on several threads, and
// the tables are joined in order. How many parts there are depends on sizes only, and so do the bits. Long rows of a
// table beyond the second-level cache are worth sorting their ids for. Memory traffic: the rows once (softmax: twice,
// and its result twice), a table for each part.

/// Whether places met at random are worth asking for ahead, and ids are looked at then.
bool beyond_cache(const Indexed& a);
/// to[s] = Σ (max, min) over ids[j] = s of from[j], `empty` where there is none. a.outer is 1, a.rows true. Sums of single
/// elements beyond the cache look at the ids themselves: false, and some left out, if one is outside.
bool join_rows(Reduction op, const Indexed& a, double empty, DType dtype, const void* from,
               void* to);
/// y[j] = exp(x[j] − max) / Σ exp(x − max) over the rows with ids[j]'s number, for each column by itself.
void softmax_by_id(const Indexed& a, DType dtype, const void* x, void* y);
/// counts[s] = #{j: ids[j] = s}
void count_ids(const int64_t* ids, int64_t n, int64_t size, int64_t* counts);

}  // namespace mercer::cpu
