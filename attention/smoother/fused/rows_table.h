// Sums, scales and shifts of the rows of a tile, on one instruction set. Rows are `row` elements apart.
#pragma once

#include <cstdint>

namespace mercer::attention {

template <class T>
struct RowTable {
    /// Whether all n elements are finite.
    bool (*finite)(const T* x, int64_t n);
    /// out row ← factor·out row, where that changes it.
    void (*rescale)(int64_t rows, int64_t columns, T* out, int64_t row, const T* factor);
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
    /// z_rc += wide_{r, rows − 1 − r + c}: what belongs to c − r, in its column of `wide`. wide_row 0:
    /// the same for all rows.
    void (*add_skewed)(int64_t rows, int64_t columns, const T* wide, int64_t wide_row, T* z,
                       int64_t row);
    /// The reverse: wide_{r, rows − 1 − r + c} ← x_rc, 0 elsewhere in its rows + columns − 1 columns.
    void (*skew)(int64_t rows, int64_t columns, const T* x, int64_t row, T* wide, int64_t wide_row);
};

}  // namespace mercer::attention
