// c(m×n) (+)= a(m×k)·b(k×n) for few rows, b where it is. Memory traffic: b once, in long runs; c, in L1, once in and
// out per `depth` rows of b.
#pragma once

#include "engine/cpu/kernels/gemm_tile.h"

namespace mercer::MERCER_ISA {
namespace {

/// As far as there are registers for 2·depth elements of a.
#if MERCER_SIMD == MERCER_SIMD_AVX512 || MERCER_SIMD == MERCER_SIMD_NEON
constexpr int row_pair_depth = 8;
#else
constexpr int row_pair_depth = 4;
#endif

/// One register of each row of c, or its first `last` lanes.
template <class T, int rows, int depth, bool whole>
MERCER_INLINE void add_column(const Vec<T> (&a)[rows][depth], const T* b, int64_t b_row, T* c,
                              int64_t c_row, bool accumulate, int last) {
    using V = Vec<T>;
    const auto load = [last](const T* from) {
        return whole ? V::load(from) : V::load(from, last, T(0));
    };
    V sum[rows];
    MERCER_UNROLL for (int i = 0; i < rows; ++i) sum[i] =
        accumulate ? load(c + i * c_row) : V(T(0));
    MERCER_UNROLL for (int p = 0; p < depth; ++p) {
        const V bv = load(b + p * b_row);
        MERCER_UNROLL for (int i = 0; i < rows; ++i) sum[i] = fma(a[i][p], bv, sum[i]);
    }
    MERCER_UNROLL for (int i = 0; i < rows; ++i) {
        if constexpr (whole)
            sum[i].store(c + i * c_row);
        else
            sum[i].store(c + i * c_row, last);
    }
}
/// `depth` rows of b added into c at once: c is read and written k/depth times, from L1.
template <class T, int rows, int depth>
void add_rows(int64_t n, const T* a, int64_t a_row, int64_t a_col, const T* b, int64_t b_row, T* c,
              int64_t c_row, bool accumulate) {
    constexpr int w = lanes<T>;
    Vec<T> av[rows][depth];
    MERCER_UNROLL for (int i = 0; i < rows; ++i) MERCER_UNROLL for (int p = 0; p < depth; ++p)
        av[i][p] = Vec<T>(a[i * a_row + p * a_col]);
    int64_t j = 0;
    for (; j + w <= n; j += w)
        add_column<T, rows, depth, true>(av, b + j, b_row, c + j, c_row, accumulate, w);
    if (j < n)
        add_column<T, rows, depth, false>(av, b + j, b_row, c + j, c_row, accumulate, int(n - j));
}

template <class T, int rows, int most>
void multiply_some(int64_t n, int64_t k, const T* a, int64_t a_row, int64_t a_col, const T* b,
                   int64_t b_row, T* c, int64_t c_row, bool accumulate) {
    static constexpr auto all =
        grid<1, most>([]<int, int depth> { return add_rows<T, rows, depth>; });
    for (int64_t p = 0; p < k; p += most)
        all.of[0][(k - p < most ? k - p : most) - 1](n, a + p * a_col, a_row, a_col, b + p * b_row,
                                                     b_row, c, c_row, accumulate || p > 0);
}

template <class T>
void multiply_rows(int64_t m, int64_t n, int64_t k, const T* a, int64_t a_row, int64_t a_col,
                   const T* b, int64_t b_row, T* c, int64_t c_row, bool accumulate) {
    const auto run = m == 1 ? multiply_some<T, 1, 8> : multiply_some<T, 2, row_pair_depth>;
    run(n, k, a, a_row, a_col, b, b_row, c, c_row, accumulate);
}

template <class T, int rows, int vectors>
MERCER_INLINE void add_tile(int64_t depth, int64_t ahead, const T* a, const T* b, int64_t b_row,
                            T* c, int64_t c_row, bool accumulate, int last) {
    Operands<T> tile;
    tile.c = c, tile.c_row = c_row, tile.accumulate = accumulate, tile.last = last;
    Accumulators<T, rows, vectors> sums;
    sums.begin(tile);
    Interleaved<T, rows, vectors> at(a, rows, b_row);
    const bool ends = last != lanes<T>;
    for (; depth > ends; --depth) {
        MERCER_UNROLL for (int64_t j = 0; j < vectors * lanes<T>; j += 64 / int64_t(sizeof(T)))
            __builtin_prefetch(b + ahead + j, 0, 3);
        sums.template go<1>(at, b);
    }
    if (ends) sums.template add<false>(at, b, last);
    sums.end(c, c_row, last, false);
}
/// `depth` rows of b, met by a packed strip.
template <class T, int rows>
void add_strip(int64_t n, int64_t depth, const T* a, const T* b, int64_t b_row, T* c, int64_t c_row,
               bool accumulate) {
    constexpr int w = lanes<T>, width = tile_columns<T>;
    int64_t j = 0;
    for (; j + width <= n; j += width)
        add_tile<T, rows, tile_vectors>(depth, depth * b_row, a, b + j, b_row, c + j, c_row,
                                        accumulate, w);
    for (; j < n; j += w)
        add_tile<T, rows, 1>(depth, depth * b_row, a, b + j, b_row, c + j, c_row, accumulate,
                             n - j < w ? int(n - j) : w);
}
template <class T>
void multiply_strips(int64_t m, int64_t n, int64_t k, const T* strips, const T* b, int64_t b_row,
                     T* c, int64_t c_row, bool accumulate) {
    static constexpr auto all =
        grid<1, tile_rows>([]<int, int rows> { return add_strip<T, rows>; });
    // Of c's way in and out, and how many runs of b memory gives at once, one weighs more than the other.
    const int64_t depth = m <= 8 ? 8 : 16;
    constexpr int64_t some = 4 * tile_columns<T>;
    for (int64_t p = 0; p < k; p += depth)
        for (int64_t j = 0; j < n; j += some)
            for (int64_t i = 0; i < m;) {
                const int rows = cpu::strip_rows(tile_rows, m - i);
                all.of[0][rows - 1](n - j < some ? n - j : some, k - p < depth ? k - p : depth,
                                    strips + i * k + p * rows, b + p * b_row + j, b_row,
                                    c + i * c_row + j, c_row, accumulate || p > 0);
                i += rows;
            }
}

}  // namespace
}  // namespace mercer::MERCER_ISA
