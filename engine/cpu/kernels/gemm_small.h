// c(m×n) (+)= a(m×k)·b(k×n) where everything is near: tiles as in gemm_micro.h that fetch nothing but, where c may be
// in L2, the next tile of c, and what the next product reads. Memory traffic: a once per panel of columns, b once per
// strip of rows, c once in and out.
#pragma once

#include "engine/cpu/kernels/gemm_outer.h"
#include "engine/cpu/kernels/gemm_shared.h"

namespace mercer::MERCER_ISA {
namespace {

/// Registers across a tile of so few rows that more of them are needed to keep the fma units busy.
constexpr int across(int rows) {
#if MERCER_SIMD == MERCER_SIMD_AVX2
    return rows == 1 ? 6 : rows == 2 ? 4 : rows == 3 ? 3 : tile_vectors;
#elif MERCER_SIMD == MERCER_SIMD_SCALAR
    return tile_vectors;
#else
    return rows <= 2 ? 8 : rows <= 6 ? 4 : rows <= tile_rows ? tile_vectors : 1;
#endif
}
/// One more, where it is the last and there are registers: alone, its sums would be waited for.
constexpr int across_at_end(int rows) {
    const int more = across(rows) + 1;
    return MERCER_SIMD == MERCER_SIMD_AVX512 && rows * more <= 27 ? more : across(rows);
}
constexpr int most_across = across_at_end(1);
/// Rows of a tile at most whose columns one register holds: two of 8 would end after half of them each.
constexpr int narrow_rows = MERCER_SIMD == MERCER_SIMD_AVX512 ? 16 : tile_rows;
/// Steps from which on it pays to take several in a turn, and there is time to fetch what is next.
constexpr int64_t long_sum = 32;
/// Rows at a time where sums are brief: c is written in longer runs.
constexpr int brief_rows = across(6) > tile_vectors ? 6 : tile_rows;

template <class T>
using Small = void (*)(const Operands<T>& tile);

template <class T, int rows, int vectors, template <class, int, int> class Where>
void small_tile(const Operands<T>& tile) {
    constexpr int w = lanes<T>;
    constexpr int64_t line = 64 / sizeof(T);
    T* const c = tile.c;
    const int64_t c_row = tile.c_row;
    const int last = tile.last;
    const bool stream = tile.stream;
    Accumulators<T, rows, vectors> sums;
    sums.begin(tile);
    const T* next = tile.next;
    int asked = next ? 0 : rows;  // of its rows
    const auto ask = [&] {
        MERCER_UNROLL for (int64_t j = 0; j < vectors * w; j += line)
            __builtin_prefetch(next + j, 1, 3);
        next += c_row, ++asked;
    };
    // One between steps, rather than a burst, where there are steps enough.
    if (tile.k < rows / 2)
        while (asked < rows) ask();
    const T* b = tile.b;
    Where<T, rows, vectors> at(tile.a, tile.a_stride, tile.b_row);
    const bool ends = last != w;
    int64_t k = tile.k - ends;
    if (k >= long_sum) {
        const T* ahead = tile.ahead;
        for (; k >= steps; k -= steps) {
            for (const T* const end = ahead + tile.ahead_turn; ahead < end; ahead += line)
                __builtin_prefetch(ahead, 0, 2);
            if (asked < rows) ask();
            sums.template go<steps>(at, b);
        }
    }
    for (; k > 0; --k) {
        if (asked < rows) ask();
        sums.template go<1>(at, b);
    }
    if (ends) sums.template add<false>(at, b, last);
    sums.end(c, c_row, last, stream);
}

template <class T, template <class, int, int> class Where>
constexpr auto smalls = grid<narrow_rows, most_across>([]<int rows, int vectors>() -> Small<T> {
    if constexpr (vectors <= across_at_end(rows)) return small_tile<T, rows, vectors, Where>;
    return nullptr;
});

/// `plain`: of what GemmSmall has beside the product, nothing is asked for.
template <class T, bool plain>
void multiply_small(const cpu::GemmSmall<T>& x) {
    const bool brief = !plain && x.brief, fetch = !plain && x.fetch, stream = !plain && x.stream;
    int64_t i = 0;
    if (!plain && x.outer) i = outers<T>.of[x.k - 1][x.accumulate](x);
    if (i == x.m) return;
    constexpr int w = lanes<T>;
    constexpr int64_t line = 64 / sizeof(T);
    const bool interleaved = x.a_col != 1;
    const auto& kinds = (interleaved ? smalls<T, Interleaved> : smalls<T, Rowwise>).of;
    Operands<T> tile;
    tile.k = x.k;
    tile.a_stride = interleaved ? x.a_col : x.a_row;
    tile.b_row = x.b_row;
    tile.c_row = x.c_row;
    tile.accumulate = x.accumulate;
    tile.stream = stream;
    tile.next = nullptr;
    const int most =
        cpu::rows_in_place(x.n <= w ? narrow_rows : tile_rows, x.a_row * int64_t(sizeof(T)));
    // What is to come is asked for with the tiles, a part of it with each, spread over its turns.
    const T* next[2] = {};
    int64_t run[2] = {}, each = 0;
    tile.ahead = x.a, tile.ahead_turn = 0;
    const bool others = !plain && x.next && (x.next[0] || x.next[1]);
    if (!plain && (others || x.ahead) && x.k >= long_sum) {
        const int64_t turns = x.k / steps,
                      tiles = ((x.m - 1) / most + 1) * ((x.n - 1) / tile_columns<T> + 1);
        if (others) next[0] = x.next[0], next[1] = x.next[1];
        run[0] = next[0] || !others ? x.m * x.k : 0, run[1] = next[1] ? x.k * x.n : 0;
        each = ((run[0] + run[1]) / (tiles * turns * line) + 1) * line * turns;
    }
    const int share = each ? 0 : shares(x, most), together = shared_rows(share);
    while (i < x.m) {
        if (share && x.m - i < together && 4 * (x.m - i) > 3 * together)
            i = x.m - together;  // some rows once more
        const int64_t ends = x.m - i;
        const bool shared = share && ends >= together;
        const int rows = shared                       ? together
                         : brief && ends > brief_rows ? brief_rows
                                                      : cpu::strip_rows(most, ends);
        tile.a = x.a + i * x.a_row;
        if (each && !others) next[0] = tile.a + x.ahead, run[0] = rows * x.k;
        for (int64_t j = 0; j < x.n;) {
            const int64_t left = x.n - j;
            const int needed = int(uint64_t(left + w - 1) / w),
                      vectors = needed <= across_at_end(rows) ? needed : across(rows),
                      width = vectors * w;
            tile.b = x.b + j;
            tile.c = x.c + i * x.c_row + j;
            if (fetch) tile.next = left > width ? tile.c + width : x.c + (i + rows) * x.c_row;
            tile.last = left >= width ? w : int(left) - width + w;
            if (each) {
                const int f = run[0] <= 0;
                tile.ahead = next[f];
                tile.ahead_turn = run[f] > 0 ? each / (x.k / steps) : 0;
                if (run[f] > 0) next[f] += each, run[f] -= each;
            }
            if constexpr (MERCER_SIMD == MERCER_SIMD_AVX512)
                if (shared && left < 3 * w) {
                    tile.last = int(left % w);
                    (interleaved ? shared_tiles<T, Interleaved> : shared_tiles<T, Rowwise>)
                        .of[share / 4][left / w - 1](tile);
                    break;
                }
            kinds[rows - 1][vectors - 1](tile);
            j += width;
        }
        i += rows;
    }
    if (stream) stream_fence();
}

}  // namespace
}  // namespace mercer::MERCER_ISA
