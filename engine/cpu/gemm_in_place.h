// One thread's product of operands that are used where they are; but a small transposed b goes through one panel.
#pragma once

#include <cstring>

#include "engine/cpu/gemm_panel.h"
#include "engine/cpu/gemm_plan.h"

namespace mercer::cpu {

inline constexpr int64_t small = 64;

/// Rows of b that one register holds: in whole ones, at `to`.
template <class T>
MatrixView<const T> widened(int64_t n, int64_t k, const MatrixView<const T>& b, T* to) {
    const T* const end = b.data + (k - 1) * b.row + n;
    for (int64_t p = 0; p < k; ++p) {
        const T* const row = b.data + p * b.row;
        if (end - row >= line<T>)
            std::memcpy(to + p * line<T>, row, 64);
        else
            std::fill(std::copy_n(row, n, to + p * line<T>), to + (p + 1) * line<T>, T(0));
    }
    return {to, line<T>, 1};
}

/// Whether L2 holds b beside the rest.
template <class T>
bool is_near(int64_t n, int64_t k) {
    return n * k <= small * small || n * k * int64_t(sizeof(T)) <= caches().l2 / 2;
}

/// Whether outer products would not be repaid, whatever multiply_near() finds.
template <class T>
bool by_tiles(const GemmTable<T>& table, int64_t m, int64_t n, int64_t k) {
    return k > outer_steps || m < outer_rows || n < (k - 2) * table.lanes;
}

/// Whether tiles make c as multiply_near() would, and c needs no fetching.
template <class T>
bool is_plain(const GemmTable<T>& table, int64_t m, int64_t n, int64_t k) {
    return by_tiles(table, m, n, k) && m * n * int64_t(sizeof(T)) <= caches().l1 / 2;
}

/// Whether that is so and rows of b may be read in whole registers, in a dozen comparisons: of most of what is small.
template <class T>
[[gnu::always_inline]] inline bool is_plain(const GemmTable<T>& table, int64_t m, int64_t n,
                                            int64_t k, const MatrixView<const T>& a,
                                            const MatrixView<const T>& b, const MatrixView<T>& c) {
    constexpr uint64_t most = 32;  // so that c is no more than 8 KiB
    return by_tiles(table, m, n, k) &&
           (uint64_t(m - 1) < most) & (uint64_t(n - 1) < most) & (uint64_t(k - 1) < small) &
               (n > line<T> / 2) & (b.row >= n) & (a.col == 1) & (b.col == 1) & (c.col == 1);
}

/// c (+)= a·b where is_plain().
template <class T>
[[gnu::always_inline]] inline void multiply_plain(const GemmTable<T>& table, int64_t m, int64_t n,
                                                  int64_t k, const MatrixView<const T>& a,
                                                  const MatrixView<const T>& b,
                                                  const MatrixView<T>& c, bool accumulate) {
    table.multiply_plain({m, n, k, a.data, a.row, a.col, b.data, b.row, c.data, c.row, accumulate,
                          false, false, false, false, nullptr, 0});
}

/// c (+)= a·b where is_near() and c's columns lie side by side. Views by reference: copied whole,
/// what was just written to a part of them would be waited for.
template <class T>
void multiply_near(const GemmTable<T>& table, int64_t m, int64_t n, int64_t k,
                   const MatrixView<const T>& a, const MatrixView<const T>& b,
                   const MatrixView<T>& c, bool accumulate, bool stream = false,
                   const T* const* next = nullptr, int64_t ahead = 0) {
    constexpr int64_t size = sizeof(T);
    const Caches& cache = caches();
    if (is_plain(table, m, n, k) && !stream && !next && !ahead)
        return multiply_plain(table, m, n, k, a, b, c, accumulate);
    const int64_t c_bytes = m * n * size;
    const bool few = k <= outer_steps && m >= outer_rows && !stream,
               held = n * k * size <= cache.l1 / 2;
    if (few && !held) {  // so many columns of b as L1 holds
        const int64_t width = cache.l1 / 2 / (k * size) / table.nr * table.nr;
        for (int64_t j = 0; j < n; j += width)
            multiply_near<T>(table, m, std::min(width, n - j), k, a, {b.data + j, b.row, 1},
                             {c.data + j, c.row, 1}, accumulate);
        return;
    }
    // So few steps take no longer than c's way out; of what L2 holds the stores ask early enough themselves.
    const bool far = c_bytes > cache.l1 / 2, brief = far && k <= 24;
    // A group of rows begins by as many registers of a as it has steps: a row of b must repay them, and the more where
    // rows are left over, or there are too few registers to keep all of a.
    const int64_t begin = m % outer_rows == 0  ? k - 2
                          : m < 2 * outer_rows ? 2 * k - 2
                                               : k,
                  registers =
                      is_low(table) && k == outer_steps ? std::max<int64_t>(begin, 10) : begin;
    const bool outer = few && registers * table.lanes <= n && (!accumulate || n >= 4 * table.lanes);
    table.multiply_small({m, n, k, a.data, a.row, a.col, b.data, b.row, c.data, c.row, accumulate,
                          stream, outer, brief,
                          far && !stream && !(brief && c_bytes <= cache.l2 / 2), next, ahead});
}

/// c (+)= a·b by one thread, both operands where they are.
template <class T>
void multiply_in_place(const GemmTable<T>& table, int64_t m, int64_t n, int64_t k,
                       const MatrixView<const T>& a, const MatrixView<const T>& b,
                       const MatrixView<T>& c, bool accumulate, int64_t spare = 0,
                       bool stream = false, const T* const* next = nullptr, int64_t ahead = 0) {
    if (!in_place(table, n, b, spare)) {
        T wide[small * line<T>];
        return multiply_in_place(table, m, n, k, a, widened(n, k, b, wide), c, accumulate, line<T>,
                                 stream, next, ahead);
    }
    if (is_near<T>(n, k))
        return multiply_near(table, m, n, k, a, b, c, accumulate, stream, next, ahead);
    GemmBlock<T> block{};
    block.m = m, block.n = n, block.k = k;
    block.accumulate = accumulate, block.stream = stream;
    block.rows_outer = true;
    block.a = a.data, block.a_row = a.row, block.a_col = a.col;
    block.b = b.data, block.b_row = b.row;
    block.c = c.data, block.c_row = c.row;
    table.multiply(block);
}

/// Whether L1 holds everything, or L2 does and a plan would leave both operands where they are, or a is a row and L2 holds
/// b, or steps are few and c is no more than L2 holds, and nothing but a transposed b in L1 is to be rearranged: making a
/// plan would take as long as the product.
template <class T>
[[gnu::always_inline]] inline bool is_small(const GemmTable<T>& table, int64_t m, int64_t n,
                                            int64_t k, const MatrixView<const T>& a,
                                            const MatrixView<const T>& b, const MatrixView<T>& c) {
    constexpr uint64_t most = 1 << 16;
    const bool all = uint64_t(m - 1) < small && uint64_t(n - 1) < small && uint64_t(k - 1) < small;
    // No more than gemm_batched() gives one thread; rows of b that do not crowd L1 or L2.
    const int64_t step = b.row * int64_t(sizeof(T));
    const bool both = !all && uint64_t(m - 3) < 125 && n >= line<T> && uint64_t(n) <= 128 &&
                      uint64_t(k - 1) < 256 && m * n * k <= table.lanes * (3 << 14) && a.col == 1 &&
                      b.col == 1 && step % 2048 != 0 && step * k <= caches().l2 / 4;
    const bool row = m == 1 && n > line<T> && k > 0 && b.col == 1 && is_near<T>(n, k);
    const bool few = uint64_t(k - 1) < outer_steps && uint64_t(m - outer_rows) < most &&
                     uint64_t(n - 1) < most &&
                     uint64_t(m * n) * std::max<uint64_t>(k, 2) <= 2 * most && b.col == 1;
    return (all || both || row || few) && c.col == 1 && (a.col == 1 || a.row == 1) &&
           (b.col == 1 ? n <= line<T> || b.row >= n : b.row == 1);
}

/// The same of a transposed b, through one panel.
template <class T>
void multiply_turned(const GemmTable<T>& table, int64_t m, int64_t n, int64_t k,
                     const MatrixView<const T>& a, const MatrixView<const T>& b,
                     const MatrixView<T>& c, bool accumulate, const T* const* next) {
    alignas(64) T panel[small * 2 * line<T>];  // none is wider than two lines
    for (int64_t j = 0; j < n; j += table.nr) {
        const int64_t columns = std::min<int64_t>(table.nr, n - j),
                      width = panel_width(table, columns);
        table.pack_columns(columns, k, b.data + j * b.col, b.row, b.col, panel);
        // Each panel asks for as much of the next b, and the first for all of the next a.
        const T* const part[] = {next && j == 0 ? next[0] : nullptr,
                                 next && next[1] ? next[1] + j * k : nullptr};
        multiply_in_place<T>(table, m, columns, k, a, {panel, width, 1}, {c.data + j, c.row, 1},
                             accumulate, width - columns, false, next ? part : nullptr);
    }
}

/// c (+)= a·b for what is_small().
template <class T>
void multiply_small(const GemmTable<T>& table, int64_t m, int64_t n, int64_t k,
                    const MatrixView<const T>& a, const MatrixView<const T>& b,
                    const MatrixView<T>& c, bool accumulate, int64_t spare = 0,
                    const T* const* next = nullptr) {
    if (b.col != 1) return multiply_turned(table, m, n, k, a, b, c, accumulate, next);
    if (in_place(table, n, b, spare))  // and near, or it would not be small
        return multiply_near(table, m, n, k, a, b, c, accumulate, false, next);
    multiply_in_place(table, m, n, k, a, b, c, accumulate, spare, false, next);
}

}  // namespace mercer::cpu
