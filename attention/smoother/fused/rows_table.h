// Sums, scales and shifts of the rows of a tile, on one instruction set. Rows are `row` elements apart.
#pragma once

#include <cstdint>

namespace mercer::attention {

/// What belongs to distances, of a tile: column c of row r is at place rows − 1 − r + c. Of these places
/// [before, before + count) have a column in `wide`; clipped, those beyond share its first and last.
template <class T>
struct SkewedTile {
    int64_t rows, columns;
    T* z;
    int64_t row;
    T* wide;
    int64_t wide_row;  // 0: the same for all rows
    int64_t before, count;
    bool clipped;
    T scale;
};

template <class T>
struct RowTable {
    /// Whether all n elements are finite.
    bool (*finite)(const T* x, int64_t n);
    /// Σ x².
    T (*squares)(const T* x, int64_t n);
    /// The largest Σ_r x_rc² of a column; ∞ or NaN where one is.
    T (*longest)(int64_t rows, int64_t columns, const T* x, int64_t row);
    /// out row ← factor·out row, where that changes it.
    void (*rescale)(int64_t rows, int64_t columns, T* out, int64_t row, const T* factor);
    /// out row ← factor·x row, of dense rows.
    void (*scaled)(int64_t rows, int64_t columns, const T* x, const T* factor, T* out);
    /// out row ← factor·out row + x_factor·x row.
    void (*blend)(int64_t rows, int64_t columns, const T* factor, T* out, int64_t row,
                  const T* x_factor, const T* x, int64_t x_row);
    /// Σ_c a·b of each row.
    void (*inner)(int64_t rows, int64_t columns, const T* a, const T* b, int64_t row, T* out);
    /// x ← x∘y.
    void (*times)(int64_t rows, int64_t columns, const T* x, const T* y, int64_t row, T* out);
    /// sums_c += Σ_r x_rc, in ascending r.
    void (*add_columns)(int64_t rows, int64_t columns, const T* x, int64_t row, T* sums);
    /// sums_r += Σ_c x_rc.
    void (*add_rows)(int64_t rows, int64_t columns, const T* x, int64_t row, T* sums);
    /// y row += 2·weight_r·x row: the derivative of ‖x‖².
    void (*add_norms)(int64_t rows, int64_t columns, const T* weight, const T* x, int64_t x_row,
                      T* y, int64_t y_row);
    /// z += scale·wide, each from its place.
    void (*add_skewed)(const SkewedTile<T>& t);
    /// The reverse: wide ← scale·Σ z of the places that share a column, 0 where there are none.
    void (*skew)(const SkewedTile<T>& t);
};

}  // namespace mercer::attention
