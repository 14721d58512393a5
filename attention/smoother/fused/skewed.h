// Rows that belong to distances: of a tile of queries [i, i + m) and keys [j, j + n), row
// j − i − m + Tq stands at the tile's lower left corner, and m + n − 1 rows meet it.
#pragma once

#include <algorithm>

#include "attention/smoother/fused/problem.h"

namespace mercer::attention {

/// Elements between rows of a tile spread by distance.
constexpr int64_t wide_row = tile_keys + block_queries + 64;

struct TilePlace {
    int64_t i, m, j, n;
};

template <class T>
class Skewed {
public:
    Skewed() = default;
    /// The rows of one head, filled up with zeros; packed for inner() if `packs`.
    Skewed(const Problem<T>& p, Slot slot, int64_t head, bool packs, Scratch& scratch)
        : queries_(p.queries), width_(p.operand[slot].width) {
        const int64_t all = all_ = p.distances(), have = std::min(all, p.operand[slot].rows);
        rows_ = p.of(slot, head);
        if (have < all) {
            T* const full = scratch.take<T>(all * width_);
            std::copy_n(rows_, have * width_, full);
            std::fill(full + have * width_, full + all * width_, T(0));
            rows_ = full;
        }
        if (!packs) return;
        T* const packed = scratch.take<T>(packed_size<T>(all, width_));
        pack_transposed(all, width_, rows_, packed);
        packed_ = packed;
    }
    explicit operator bool() const { return rows_; }
    int64_t width() const { return width_; }
    int64_t first(const TilePlace& t) const { return t.j - t.i - t.m + queries_; }

    /// z_ij += ⟨x_i, row of (i, j)⟩; x: the tile's rows.
    void add_inner(const TilePlace& t, const T* x, T* z, T* wide) const {
        const int64_t from = first(t), nr = cpu::gemm_kernels<T>().nr, base = from / nr * nr;
        multiply<T>({t.m, from + t.m + t.n - 1 - base, width_, x, width_, 1,
                     packed_ + base * width_, wide, wide_row, false, 0, 0, all_ - base});
        row_stages<T>().add_skewed(t.m, t.n, wide + (from - base), wide_row, z, tile_keys);
    }
    /// z_ij += the row of (i, j), of width 1.
    void add_itself(const TilePlace& t, T* z) const {
        row_stages<T>().add_skewed(t.m, t.n, rows_ + first(t), 0, z, tile_keys);
    }
    /// out_i += Σ_j x_ij·row of (i, j). x is left spread in `wide`.
    void add_combined(const TilePlace& t, const T* x, T* out, T* wide) const {
        spread(t, x, wide);
        Scratch scratch;
        const int64_t count = t.m + t.n - 1;
        T* const packed = scratch.take<T>(packed_size<T>(width_, count));
        pack_straight(width_, count, rows_ + first(t) * width_, packed);
        multiply<T>({t.m, width_, count, wide, wide_row, 1, packed, out, width_, true});
    }
    void spread(const TilePlace& t, const T* x, T* wide) const {
        row_stages<T>().skew(t.m, t.n, x, tile_keys, wide, wide_row);
    }
    /// drow of (i, j) += Σ x_ij·y_i, x spread in `wide`; y: packed straight, the tile's rows from
    /// row y_first of y_rows on.
    void add_gradient(const TilePlace& t, const T* wide, const T* y, int64_t y_rows,
                      int64_t y_first, T* drows) const {
        multiply<T>({t.m + t.n - 1, width_, t.m, wide, 1, wide_row, y, drows + first(t) * width_,
                     width_, true, y_rows, y_first});
    }
    void add_gradient_itself(const TilePlace& t, const T* wide, T* drows) const {
        row_stages<T>().add_columns(t.m, t.m + t.n - 1, wide, wide_row, drows + first(t));
    }

private:
    int64_t queries_ = 0, width_ = 0, all_ = 0;
    const T *rows_ = nullptr, *packed_ = nullptr;
};

}  // namespace mercer::attention
