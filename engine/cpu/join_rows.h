// Rows joined by number: sums, extrema, softmax over the rows of equal id, in no order of ids. Short rows go one after the
// other into a table; where there are many for its size, parts of them into tables of their own, on several threads, and
// the tables are joined in order. How many parts there are depends on sizes only, and so do the bits. Long rows of a
// table beyond the second-level cache are worth sorting their ids for. Memory traffic: the rows once (softmax: twice,
// and its result twice), a table for each part.
#pragma once

#include "engine/cpu/index.h"
#include "engine/cpu/reduce_table.h"

namespace mercer::cpu {

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
