// From operands to the log weights (or weights) of a tile, and back.
#pragma once

#include "attention/smoother/fused/skewed.h"

namespace mercer::attention {

/// What one head's queries bring, from the head's first on.
template <class T>
struct QuerySide {
    const T *q, *norms, *inner, *relative;
};
/// Keys [j, j + n), packed; for scores of differences and sums transposed instead.
template <class T>
struct KeyTile {
    int64_t j, n;
    const T *keys, *norms, *inner;
    const T* column_terms;  // log_norm·‖k‖² where all is affine
};

/// ‖k‖² of a head's keys where read, and log_norm·‖k‖² where that is a term of its own.
template <class T>
struct KeyNorms {
    T *norms = nullptr, *terms = nullptr;
    KeyNorms(const Problem<T>& p, int64_t head, Scratch& scratch);
};
template <class T>
QuerySide<T> query_side(const Problem<T>& p, int64_t head, Scratch& scratch);

/// Packs keys [j, …) of tile t into `keys`, the inner term's into `inner`.
template <class T>
int64_t key_tile_size(const Problem<T>& p);
template <class T>
int64_t inner_tile_size(const Problem<T>& p) {
    return p.has(inner_right) ? packed_size<T>(tile_keys, p.operand[inner_right].width) : 0;
}
template <class T>
KeyTile<T> pack_keys(const Problem<T>& p, int64_t head, int64_t t, const KeyNorms<T>& norms,
                     T* keys, T* inner);

/// Columns [first, end) of some rows hold all that these see.
using Extent = TileColumns;

/// What a tile's rows see: where it is partial, as intervals or as flags.
class TileView {
public:
    /// Room for one tile.
    TileView(int64_t rows, Scratch& scratch)
        : mask_(scratch.take<bool>(rows * tile_keys + 64)),
          intervals_(scratch.take<TileColumns>(rows)) {}
    /// As flags if they are asked for.
    TileClass look(const Filter& filter, const FilterTile& tile, bool flags = false);
    bool partial() const { return class_ == TileClass::partial; }
    bool sees(int64_t r, int64_t c) const { return !partial() || mask_[r * columns_ + c]; }
    Extent extent(int64_t first_row, int64_t rows) const;
    /// Rows that are worked on at once: what the first-level cache holds of elements so many bytes
    /// large, or few, where each strip has an extent of its own.
    int64_t strip(int64_t rows, int64_t bytes) const;
    /// Fills in what a tile's rows from first_row on see.
    template <class T>
    void show(LogTile<T>& t, int64_t first_row) const {
        t.seen = flags_ && partial() ? mask_ + first_row * columns_ : nullptr;
        t.seen_row = columns_;
        t.intervals = !flags_ && partial() ? intervals_ + first_row : nullptr;
    }

private:
    bool* mask_;
    TileColumns* intervals_;
    int64_t columns_ = 0;
    TileClass class_ = TileClass::empty;
    bool flags_ = false;
};

/// The tile from column `begin` on.
template <class T>
void skip_columns(LogTile<T>& t, int64_t begin) {
    if (begin == 0) return;
    t.columns -= begin, t.z += begin;
    if (t.column_terms) t.column_terms += begin;
    if (t.seen) t.seen += begin;
    for (int64_t r = 0; t.intervals && r < t.rows; ++r) {
        TileColumns& v = t.intervals[r];
        v = {std::max<int64_t>(0, v.first - begin), std::max<int64_t>(0, v.end - begin)};
    }
}

/// Scores of a tile, rows tile_keys apart. packed: the queries, if not to be read where they are.
template <class T>
void tile_scores(const Problem<T>& p, const QuerySide<T>& side, const KeyTile<T>& k, int64_t i,
                 int64_t m, Extent columns, T* s, const T* packed = nullptr,
                 Ahead<T>* ahead = nullptr);
/// z from them, which may be the same memory. Where all is affine, nothing to do.
template <class T>
void tile_logs(const Problem<T>& p, const QuerySide<T>& side, const KeyTile<T>& k,
               const Skewed<T>& relative, const TilePlace& at, const T* s, T* z, T* wide);

/// Where z is no more than the formula: z, which may be s, with Σ z and Σ |z| of the rows added to kept sums.
template <class T>
void tile_weights(const Problem<T>& p, const QuerySide<T>& side, const KeyTile<T>& k,
                  const TilePlace& at, const T* s, T* z, T* sums, T* sizes);

/// Cotangents of a formula's operands, element by element.
template <class T>
struct FormulaGradient {
    T *scores, *query_norms, *key_norms;
    T* parameters[3];
};
template <class T>
void formula_backward(const Problem<T>& p, const QuerySide<T>& side, const KeyTile<T>& k,
                      const TilePlace& at, const T* s, const T* dz, const FormulaGradient<T>& to);

}  // namespace mercer::attention
