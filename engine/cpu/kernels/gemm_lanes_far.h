// The sums of gemm_lanes.h where a comes from beyond the second-level cache and its columns are met in several groups: by
// a few rows and a piece of k at a time, so that a is fetched once. Memory traffic: a once, b, from L2, once per block of
// rows.
#pragma once

#include "engine/cpu/kernels/gemm_lanes.h"

namespace mercer::MERCER_ISA {
namespace {

using cpu::few_columns;

/// A piece of a tile's sums, which are kept few_columns to a row.
template <class T, int rows, int columns>
void lane_piece(int64_t k, const T* a, int64_t a_row, const T* b, int64_t n, Lanes<T>* kept,
                const T* ahead, int asked) {
    Lanes<T> sum[rows * columns];
    MERCER_UNROLL for (int i = 0; i < rows; ++i) MERCER_UNROLL for (int j = 0; j < columns; ++j)
        MERCER_UNROLL for (int h = 0; h < lane_parts<T>; ++h) sum[i * columns + j][h] =
            kept[i * few_columns + j][h];
    lane_sums<T, rows, columns>(k, a, a_row, b, n, sum, ahead, asked);
    MERCER_UNROLL for (int i = 0; i < rows; ++i) MERCER_UNROLL for (int j = 0; j < columns; ++j)
        MERCER_UNROLL for (int h = 0; h < lane_parts<T>; ++h) kept[i * few_columns + j][h] =
            sum[i * columns + j][h];
}

/// The same for m rows of a group of columns. Each tile asks for `asked` rows from `ahead` on, and moves it.
template <class T, int columns>
void lane_pieces(int64_t m, int64_t n, int64_t k, const T* a, int64_t a_row, const T* b,
                 Lanes<T>* kept, const T*& ahead, int asked) {
    constexpr int most = lane_elements / columns;
    for (int64_t i = 0; i < m;) {
        const bool whole = m - i >= most;
        const auto run = whole ? lane_piece<T, most, columns> : lane_piece<T, 1, columns>;
        run(k, a + i * a_row, a_row, b, n, kept + i * few_columns, ahead, asked);
        ahead += asked * a_row;
        i += whole ? most : 1;
    }
}

template <class T>
void multiply_lanes_far(int64_t m, int64_t n, int64_t k, const T* a, int64_t a_row, const T* b,
                        T* c, int64_t c_row, bool accumulate) {
    constexpr bool pairs = lane_columns == 3;  // or triples make the groups, if there are several
    if (!pairs || n <= lane_columns)
        return multiply_lanes(m, n, k, a, a_row, b, c, c_row, accumulate);
    if constexpr (pairs) {
        constexpr int64_t block = lane_elements, piece = 1024 / sizeof(T);
        for (int64_t i = 0; i < m; i += block) {
            const int64_t rows = m - i < block ? m - i : block;
            const T* const from = a + i * a_row;
            Lanes<T> kept[block * few_columns];
            clear_lanes<T, block * few_columns>(kept);
            for (int64_t p = 0; p < k; p += piece) {
                const int64_t steps = k - p < piece ? k - p : piece;
                const bool last = steps == k - p;
                // The piece to come, spread over this one's tiles, of which a whole block has n; some ask for rows of the
                // block after it, which is sooner than it must be and no slower.
                const T* ahead = last ? from + block * a_row : from + p + piece;
                const int asked = last && m - i < 2 * block ? 0 : n < block ? 2 : 1;
                for_each_group(n, [&](int j, int count) {
                    const auto run = count == 3 ? lane_pieces<T, 3> : lane_pieces<T, 2>;
                    run(rows, n, steps, from + p, a_row, b + p * n + j * sum_lanes<T>, kept + j,
                        ahead, asked);
                });
            }
            for (int64_t r = 0; r < rows; ++r) {
                T out[few_columns];
                join_sums<T, few_columns>(kept + r * few_columns, out);
                T* const to = c + (i + r) * c_row;
                for (int64_t j = 0; j < n; ++j) to[j] = accumulate ? to[j] + out[j] : out[j];
            }
        }
    }
}

}  // namespace
}  // namespace mercer::MERCER_ISA
