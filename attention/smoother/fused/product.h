// Products of tiles that lie in cache.
#pragma once

#include <algorithm>
#include <vector>

#include "attention/smoother/tile_columns.h"
#include "engine/cpu/gemm_panel.h"

namespace mercer::attention {

/// Memory that products bring to the second-level cache while they run: a line every few steps. What is wanted
/// soon goes before all else, and is forgotten when the time for it is over.
template <class T>
class Ahead {
public:
    void soon(const T* at, int64_t elements) { add(soon_, at, elements); }
    void later(const T* at, int64_t elements) { add(later_, at, elements); }
    void forget() { soon_.clear(); }
    /// What the block's tiles have time for is taken off.
    void give(cpu::GemmBlock<T>& block, const cpu::GemmTable<T>& gemm) {
        constexpr int64_t line = 64 / sizeof(T);
        const int64_t of_tile = block.k / gemm.steps * line,
                      tiles =
                          (block.m + gemm.mr - 1) / gemm.mr * ((block.n + gemm.nr - 1) / gemm.nr);
        for (int f = 0; f < 2 && of_tile > 0; ++f) {
            std::vector<Range>& ranges = soon_.empty() ? later_ : soon_;
            if (ranges.empty()) break;
            Range& r = ranges.back();
            const int64_t wanted = std::min(tiles, (r.end - r.at + of_tile - 1) / of_tile);
            block.ahead[f] = {r.at, wanted, 1, of_tile, 0, line};
            r.at += wanted * of_tile;
            if (r.at >= r.end) ranges.pop_back();
        }
    }

private:
    struct Range {
        const T *at, *end;
    };
    static void add(std::vector<Range>& to, const T* at, int64_t elements) {
        if (elements > 0) to.push_back({at, at + elements});
    }
    std::vector<Range> soon_, later_;
};

/// c(m×n) (+)= a·b, b packed by columns.
template <class T>
struct Product {
    int64_t m, n, k;
    const T* a;
    int64_t a_row, a_col;  // one of them 1
    const T* b;
    T* c;
    int64_t c_row;
    bool accumulate;
    int64_t b_depth = 0, b_first = 0;  // of b only rows [b_first, b_first + k) of b_depth
    bool a_packed = false;
    Ahead<T>* ahead = nullptr;
};
/// With b in panels, or in a part of one, whose rows are b_row apart.
template <class T>
void multiply(const Product<T>& x, int64_t b_row = 0) {
    if (x.m == 0 || x.n == 0 || (x.k == 0 && x.accumulate)) return;
    cpu::GemmBlock<T> block{};
    const cpu::GemmTable<T>& gemm = cpu::gemm_kernels<T>();
    block.m = x.m, block.n = x.n, block.k = x.k;
    block.accumulate = x.accumulate;
    block.a_packed = x.a_packed, block.b_packed = b_row == 0;
    block.a = x.a, block.a_row = x.a_row, block.a_col = x.a_col;
    block.b = x.b, block.b_row = b_row, block.b_depth = x.b_depth, block.b_first = x.b_first;
    block.c = x.c, block.c_row = x.c_row;
    if (x.ahead) x.ahead->give(block, gemm);
    gemm.multiply(block);
}
/// The same for columns [first, end) alone, in whole registers; b begins at column 0, c at c_begin.
template <class T>
void multiply_columns(Product<T> x, TileColumns columns, int64_t c_begin = 0) {
    const cpu::GemmTable<T>& gemm = cpu::gemm_kernels<T>();
    const int64_t nr = gemm.nr, lanes = gemm.lanes, all = x.n;
    int64_t from = columns.first / lanes * lanes;
    const int64_t to = std::min(all, (columns.end + lanes - 1) / lanes * lanes);
    const T* const b = x.b;
    T* const c = x.c;
    while (from < to) {
        const int64_t panel = from / nr * nr, end = std::min(all, panel + nr);
        // Whole panels at once; else a part of one.
        const bool whole = from == panel && end <= to;
        const int64_t next = !whole ? std::min(end, to) : to == all ? all : to / nr * nr;
        x.n = next - from, x.c = c + (from - c_begin), x.b = b + panel * x.k + (from - panel);
        multiply(x, whole ? 0 : cpu::panel_width(gemm, all - panel));
        from = next;
    }
}
/// Elements that b(k×n), packed, takes.
template <class T>
int64_t packed_size(int64_t n, int64_t k) {
    const int64_t lanes = cpu::gemm_kernels<T>().lanes;
    return (n + lanes - 1) / lanes * lanes * k;
}
/// b(k×n) = rows of x transposed (x: n rows of k), and b(k×n) = x (k rows of n).
/// Rows are `row` apart, or dense.
template <class T>
void pack_transposed(int64_t n, int64_t k, const T* x, T* out, int64_t row = 0) {
    cpu::gemm_kernels<T>().pack_columns(n, k, x, 1, row ? row : k, out);
}
template <class T>
void pack_straight(int64_t n, int64_t k, const T* x, T* out, int64_t row = 0) {
    cpu::gemm_kernels<T>().pack_columns(n, k, x, row ? row : n, 1, out);
}

}  // namespace mercer::attention
