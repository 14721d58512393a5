// Squares of elements turned over in registers.
#pragma once

#include <utility>

#include "engine/simd/vec.h"

namespace mercer::MERCER_ISA {

#if MERCER_SIMD == MERCER_SIMD_SCALAR
template <class T>
MERCER_INLINE void turn(Vec<T> (&)[1]) {}
#else
template <int from, class T, int... i>
MERCER_INLINE Vec<T> interleaved(Vec<T> a, Vec<T> b, std::integer_sequence<int, i...>) {
    return __builtin_shufflevector(a.v, b.v, (from + i / 2 + i % 2 * int(sizeof...(i)))...);
}

/// v[i][j] becomes v[j][i]. Interleaving rows k and k + lanes/2 into 2k and 2k + 1 moves the highest bit of the row below
/// the lowest of the column; after log2(lanes) rounds all bits of both have changed sides.
template <class T>
MERCER_INLINE void turn(Vec<T> (&v)[Vec<T>::lanes]) {
    constexpr int lanes = Vec<T>::lanes, half = lanes / 2;
    constexpr std::make_integer_sequence<int, lanes> places;
#pragma GCC unroll 4
    for (int round = 1; round < lanes; round *= 2) {
        Vec<T> next[lanes];
#pragma GCC unroll 8
        for (int k = 0; k < half; ++k) {
            next[2 * k] = interleaved<0>(v[k], v[k + half], places);
            next[2 * k + 1] = interleaved<half>(v[k], v[k + half], places);
        }
#pragma GCC unroll 16
        for (int k = 0; k < lanes; ++k) v[k] = next[k];
    }
}
#endif

}  // namespace mercer::MERCER_ISA
