// Building blocks of kernels over the columns of a dense tile, n × columns: the bits of rows of n.
#pragma once

#include "engine/cpu/kernels/reduce_parts.h"

namespace mercer::MERCER_ISA {

/// What tile_sum() works in: the sums of a tile's columns, and parts of them.
template <class T>
inline constexpr int64_t tile_sums = 8 * int64_t(4096 / sizeof(T));

/// sums[c] = Σ_i of the elements x_i of column c, joined to their parts by add(part, x, c).
template <class T, class Add>
MERCER_INLINE void tile_sum(const T* x, int64_t n, int64_t columns, T* sums, Add add) {
    Columns<SumOp, T, false, Add>{x, n, columns, int(columns), add}.join(sums);
}
template <class T>
MERCER_INLINE void tile_sum(const T* x, int64_t n, int64_t columns, T* sums) {
    tile_sum(x, n, columns, sums,
             [](Vec<T> part, Vec<T> v, int64_t) MERCER_STEP { return part + v; });
}

/// The largest of what is not NaN in each of a register's columns, as largest_of() of a row.
template <class T>
MERCER_INLINE Vec<T> largest_of_columns(const T* x, int64_t n, int64_t columns, int count) {
    Vec<T> top(MaxOp::identity<T>);
    for (int64_t i = 0; i < n * columns; i += columns)
        top = PlainMax::join(top, load(x + i, count, T(0)));
    return top;
}
/// 0 for −∞: of a column of −∞ only, exp gives zeros, and so do we.
template <class T>
MERCER_INLINE Vec<T> finite_top(Vec<T> top) {
    return select(top == -infinity<T>(), Vec<T>(T(0)), top);
}

}  // namespace mercer::MERCER_ISA
