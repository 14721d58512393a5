// Rows of a table that belong to distances j − i. A tile of queries [i, i + m) and keys [j, j + n) meets
// m + n − 1 distances, from j − i − m + 1 at its lower left corner on, and no more rows than the table
// has: a tile beyond where it clips meets one.
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
    /// The table of one head. `inner`, `combined`: which products are asked for; a short table is packed
    /// for them as a whole, of a long one the rows that a tile meets.
    Skewed(const Problem<T>& p, Slot slot, int64_t head, bool inner, bool combined,
           Scratch& scratch)
        : at_(slot == relative_rows ? p.spec.relative_at : p.spec.value_at),
          scale_(slot == relative_rows ? T(p.spec.relative_scale) : T(1)),
          rows_(p.operand[slot].rows),
          width_(p.operand[slot].width),
          step_(at_.reversed ? -width_ : width_),
          table_(p.of(slot, head)) {
        if (rows_ > most_packed) return;
        if (inner) inner_ = pack_inner({0, rows_, 0}, scratch);
        if (combined) combined_ = pack_combined({0, rows_, 0}, scratch);
    }
    explicit operator bool() const { return table_; }
    int64_t width() const { return width_; }

    /// z_ij += scale·⟨x_i, row of (i, j)⟩; x: the tile's rows.
    void add_inner(const TilePlace& t, const T* x, T* z, T* wide) const {
        const Met met(*this, t);
        if (met.count == 0) return;
        Scratch scratch;
        const int64_t lanes = cpu::gemm_kernels<T>().lanes, first = inner_ ? met.begin : 0,
                      base = first / lanes * lanes;
        multiply_columns<T>({t.m, inner_ ? rows_ : met.count, width_, x, width_, 1,
                             inner_ ? inner_ : pack_inner(met, scratch), wide, wide_row, false},
                            {first, first + met.count}, base);
        attend_rows<T>().add_skewed(tile(t, met, z, wide + (first - base), wide_row, scale_));
    }
    /// z_ij += the row of (i, j), of width 1.
    void add_itself(const TilePlace& t, T* z) const {
        const Met met(*this, t);
        if (met.count == 0) return;
        attend_rows<T>().add_skewed(tile(t, met, z, const_cast<T*>(table_) + met.begin, 0, T(1)));
    }
    /// wide ← scale·x_ij, by the rows of the table that the tile meets.
    void spread(const TilePlace& t, const T* x, T* wide) const {
        const Met met(*this, t);
        if (met.count == 0) return;
        attend_rows<T>().skew(tile(t, met, const_cast<T*>(x), wide, wide_row, scale_));
    }
    /// out_i += scale·Σ_j x_ij·row of (i, j). x is left spread in `wide`.
    void add_combined(const TilePlace& t, const T* x, T* out, T* wide) const {
        const Met met(*this, t);
        if (met.count == 0) return;
        spread(t, x, wide);
        Scratch scratch;
        const T* const rows = combined_ ? combined_ : pack_combined(met, scratch);
        multiply<T>({t.m, width_, met.count, wide, wide_row, 1, rows, out, width_, true,
                     combined_ ? rows_ : met.count, combined_ ? met.begin : 0});
    }
    /// drow of (i, j) += Σ x_ij·y_i, x spread in `wide`; y: packed straight, the tile's rows from
    /// row y_first of y_rows on.
    void add_gradient(const TilePlace& t, const T* wide, const T* y, int64_t y_rows,
                      int64_t y_first, T* drows) const {
        const Met met(*this, t);
        if (met.count == 0) return;
        multiply<T>({met.count, width_, t.m, wide, 1, wide_row, y, row(drows, met.begin), step_,
                     true, y_rows, y_first});
    }
    void add_gradient_itself(const TilePlace& t, const T* wide, T* drows) const {
        const Met met(*this, t);
        attend_rows<T>().add_columns(t.m, met.count, wide, wide_row, drows + met.begin);
    }

private:
    // 2 MiB of float32 at width 64, in both forms.
    static constexpr int64_t most_packed = 4096;

    /// The rows that a tile meets, counted by distance, and how many of its distances come before them.
    struct Met {
        int64_t begin, count, before;
        Met(int64_t b, int64_t n, int64_t first) : begin(b), count(n), before(first) {}
        Met(const Skewed& s, const TilePlace& t) {
            const int64_t from = t.j - t.i - t.m + 1;
            const auto rows = s.at_.met(s.rows_, from, from + t.m + t.n - 1);
            begin = rows.begin, count = rows.end - rows.begin;
            before = s.at_.first + begin - from;
        }
    };
    SkewedTile<T> tile(const TilePlace& t, const Met& met, T* z, T* wide, int64_t row,
                       T scale) const {
        return {t.m, t.n, z, tile_keys, wide, row, met.before, met.count, at_.clipped, scale};
    }
    template <class P>
    P* row(P* table, int64_t n) const {
        return table + (at_.reversed ? rows_ - 1 - n : n) * width_;
    }
    T* pack_inner(const Met& met, Scratch& scratch) const {
        T* const out = scratch.take<T>(packed_size<T>(met.count, width_));
        cpu::gemm_kernels<T>().pack_columns(met.count, width_, row(table_, met.begin), 1, step_,
                                            out);
        return out;
    }
    T* pack_combined(const Met& met, Scratch& scratch) const {
        T* const out = scratch.take<T>(packed_size<T>(width_, met.count));
        cpu::gemm_kernels<T>().pack_columns(width_, met.count, row(table_, met.begin), step_, 1,
                                            out);
        return out;
    }

    Distances at_{};
    T scale_ = 1;
    int64_t rows_ = 0, width_ = 0, step_ = 0;
    const T *table_ = nullptr, *inner_ = nullptr, *combined_ = nullptr;
};

}  // namespace mercer::attention
