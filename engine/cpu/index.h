// Rows and elements picked and put by index. Arrays are dense: (outer, n, inner) on one side, (outer, size, inner) on the
// other, and ids in [0, size) say which place along `size` belongs to j < n. Memory traffic: what is picked or put, once.
#pragma once

#include <cstdint>

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

}  // namespace mercer::cpu
