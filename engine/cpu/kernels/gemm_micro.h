// GEMM micro-kernels: a tile of C of `rows`×`vectors` registers is updated by fma(a[i,p], b[p,j],
// c[i,j]) for p = 0, 1, … Memory traffic per step p: `rows` broadcasts from a, `vectors` registers
// from b (both in the order they are packed, from L1 or L2: loads are far from the limit); C once
// in and once out per call.
//
// Each element of C is one chain of fma in ascending p, so tile shapes do not show in the result;
// they are chosen per instruction set to fill the registers: accumulators + `vectors` of b + one
// broadcast.
#pragma once

#include "engine/cpu/kernels/gemm_tile.h"

namespace mercer::MERCER_ISA {
namespace {

/// One tile's work, and what to fetch while it runs.
template <class T>
struct Tile : Operands<T> {
    int64_t next_row;
    const T* ahead[2];  // what comes later, a line of each for every few steps
    int64_t ahead_step[2];
    const T* from;  // `copies` panel rows, ahead_step[0] apart, that go to `to`, to_step apart
    T* to;
    int64_t copies, to_step;
    bool b_ends;  // its last row is not read in whole registers
};
template <class T>
using Micro = void (*)(const Tile<T>& tile);

/// c tile (+)= a·b over k steps.
template <class T, int rows, int vectors, template <class, int, int> class Where>
void micro(const Tile<T>& tile) {
    T* const c = tile.c;
    const int64_t c_row = tile.c_row;
    const int last = tile.last;
    const bool stream = tile.stream;
    using V = Vec<T>;
    constexpr int w = V::lanes;
    constexpr int64_t width = vectors * w, line_elements = 64 / sizeof(T);
    Accumulators<T, rows, vectors> sums;
    sums.begin(tile);
    const T* b = tile.b;
    Where<T, rows, vectors> at(tile.a, tile.a_stride, tile.b_row);
    // Memory is asked for line by line between steps: a burst would hold up the loads of a and b.
    // The next tile's c comes to L1 at the end, before which a and b would drive it out again; where there is
    // time, to L2 first.
    const T *next = tile.next, *later = tile.next;
    constexpr int64_t soon = (rows + 2) * steps;
    int64_t rows_left = stream ? 0 : rows, far_left = tile.k > 2 * soon ? rows_left : 0;
    const T* ahead0 = tile.ahead[0];
    const T* ahead1 = tile.ahead[1];
    const int64_t step0 = tile.ahead_step[0], step1 = tile.ahead_step[1];
    const T* from = tile.from;
    T* to = tile.to;
    const bool ends = Where<T, rows, vectors>::b_ends && tile.b_ends;
    const int64_t to_step = tile.to_step;
    int64_t copies = tile.copies, k = tile.k - ends;
    // The loop's own arithmetic competes with fma for ports: a few steps per turn.
    for (; k >= steps; k -= steps) {
        if (far_left > 0) {
            --far_left;
            MERCER_UNROLL for (int64_t j = 0; j < width; j += line_elements)
                __builtin_prefetch(later + j, 0, 2);
            __builtin_prefetch(later + width - 1, 0, 2);
            later += tile.next_row;
        } else if (k < soon && rows_left > 0) {
            --rows_left;
            MERCER_UNROLL for (int64_t j = 0; j < width; j += line_elements)
                __builtin_prefetch(next + j, 0, 3);
            __builtin_prefetch(next + width - 1, 0, 3);
            next += tile.next_row;
        }
        __builtin_prefetch(ahead0, 0, 2);
        __builtin_prefetch(ahead0 + line_elements, 0, 2);
        if (copies > 0) {
            --copies;
            if constexpr (line_elements < tile_columns<T>)  // in a third line, if unaligned
                __builtin_prefetch(ahead0 + tile_columns<T> - 1, 0, 2);
            MERCER_UNROLL for (int j = 0; j < tile_vectors; ++j) {
                V::load(from + j * w).store(to + j * w);
            }
            from += step0;
            to += to_step;
        }
        ahead0 += step0;
        __builtin_prefetch(ahead1, 0, 2);
        ahead1 += step1;
        sums.template go<steps>(at, b);
    }
    for (; k > 0; --k) sums.template go<1>(at, b);
    if (ends) sums.template add<false>(at, b, last);
    sums.end(c, c_row, last, stream);
}

template <class T, template <class, int, int> class Where>
constexpr auto micros = grid<tile_rows, tile_vectors>([]<int rows, int vectors> {
    return micro<T, rows, vectors, Where>;
});

}  // namespace
}  // namespace mercer::MERCER_ISA
