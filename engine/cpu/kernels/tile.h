// Building blocks of kernels over the columns of a dense tile, n × columns: the bits of rows of n.
#pragma once

#include "engine/cpu/copy_table.h"
#include "engine/cpu/kernels/reduce_parts.h"

namespace mercer::MERCER_ISA {

/// Asks for the place in the next tile of what stands at row i, element c.
template <class T>
MERCER_INLINE void fetch_ahead(const cpu::TileAhead& next, int operand, int64_t i, int64_t c) {
    __builtin_prefetch(next.operand[operand] + i * next.pitch + c * int64_t(sizeof(T)), 0, 2);
}

/// Σ_i of what add(part, i) joins to its part, of a register's columns: the lanes of the canonical order in registers, eight
/// at a time. A loop, for add may be an exponential: both levels unrolled would be four hundred copies of it.
template <class T, class Add>
MERCER_INLINE Vec<T> column_sum(int64_t n, Add add) {
    const JoinBy<SumOp> join;
    if (n == 0) return Vec<T>(T(0));
    if (n <= short_row)
        return joined_few(
            n, [&](int64_t i) MERCER_STEP { return add(Vec<T>(T(0)), i); }, join);
    Vec<T> every_eighth[8];
#pragma GCC unroll 1
    for (int64_t j = 0; j < 8; ++j) {
        const auto lane = [&](int64_t k) MERCER_STEP {
            Vec<T> part(T(0));
            for (int64_t i = j + 8 * k; i < n; i += canonical_lanes) part = add(part, i);
            return part;
        };
        every_eighth[j] =
            joined_few<4>((n < canonical_lanes ? n - j + 7 : canonical_lanes) / 8, lane, join);
    }
    return joined_few<4>(
        8, [&](int64_t j) MERCER_STEP { return every_eighth[j]; }, join);
}

/// The largest of what is not NaN in each of a register's columns, as largest_of() of a row.
template <class T>
MERCER_INLINE Vec<T> largest_of_columns(const T* x, int64_t n, int64_t columns, int count) {
    Vec<T> top[4] = {Vec<T>(MaxOp::identity<T>), top[0], top[0], top[0]};
    const auto see = [&](int k, int64_t i) MERCER_STEP {
        top[k] = PlainMax::join(top[k], load(x + i * columns, count, T(0)));
    };
    int64_t i = 0;
    for (; i + 4 <= n; i += 4) see(0, i), see(1, i + 1), see(2, i + 2), see(3, i + 3);
    for (; i < n; ++i) see(0, i);
    return PlainMax::join(PlainMax::join(top[0], top[1]), PlainMax::join(top[2], top[3]));
}
/// 0 for −∞: of a column of −∞ only, exp gives zeros, and so do we.
template <class T>
MERCER_INLINE Vec<T> finite_top(Vec<T> top) {
    return select(top == -infinity<T>(), Vec<T>(T(0)), top);
}

}  // namespace mercer::MERCER_ISA
