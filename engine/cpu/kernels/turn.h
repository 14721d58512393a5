// Small matrices turned over in registers.
#pragma once

#include "engine/cpu/kernels/square.h"

namespace mercer::MERCER_ISA {

#if MERCER_SIMD != MERCER_SIMD_SCALAR
template <int from, class T, int... i>
MERCER_INLINE Vec<T> interleaved(Vec<T> a, Vec<T> b, std::integer_sequence<int, i...>) {
    return __builtin_shufflevector(a.v, b.v, (from + i / 2 + i % 2 * int(sizeof...(i)))...);
}
#endif

/// A dense matrix in n registers, n a power of two: `rows` of them become its columns. Interleaving the registers k and
/// k + n/2 into 2k and 2k + 1 rotates the bits of each element's place (the register's number, then the lane) left
/// by one; after log2(rows) rounds those of the row have gone below those of the column. Squares go quicker.
template <int rows, class T, int n>
MERCER_INLINE void turn(Vec<T> (&v)[n]) {
    constexpr int lanes = Vec<T>::lanes;
    static_assert((n & (n - 1)) == 0 && rows <= n * lanes);
    if constexpr (n > 1 && lanes == n && rows == n) {
        Wide<T> square[n];
        MERCER_UNROLL for (int k = 0; k < n; ++k) square[k] = v[k].v;
        transpose_square<T>(square);
        MERCER_UNROLL for (int k = 0; k < n; ++k) v[k].v = square[k];
    } else if constexpr (n > 1 && lanes > 1) {
        constexpr std::make_integer_sequence<int, lanes> places;
#pragma GCC unroll 4
        for (int round = 1; round < rows; round *= 2) {
            Vec<T> next[n];
#pragma GCC unroll 8
            for (int k = 0; k < n / 2; ++k) {
                next[2 * k] = interleaved<0>(v[k], v[k + n / 2], places);
                next[2 * k + 1] = interleaved<lanes / 2>(v[k], v[k + n / 2], places);
            }
#pragma GCC unroll 16
            for (int k = 0; k < n; ++k) v[k] = next[k];
        }
    }
}

}  // namespace mercer::MERCER_ISA
