// What the fused smoother does to a tile of scores between its products, on one instruction set.
// Tiles are rows of queries, `row` elements apart; columns are keys.
#pragma once

#include <cstdint>

namespace mercer::attention {

template <class T>
struct FusedTable {
    /// Whether all n elements are finite.
    bool (*finite)(const T* x, int64_t n);
    /// z ← e^{z − max}, and of each row: the running maximum and sum Σe^{z − max}; factor: what went
    /// before has to be multiplied by. seen (rows × columns, or nullptr for all): others become 0.
    void (*soften)(int64_t rows, int64_t columns, T* z, int64_t row, const bool* seen, T* max,
                   T* sum, T* factor);
    /// out row ← factor·out row, where that changes it.
    void (*rescale)(int64_t rows, int64_t columns, T* out, int64_t row, const T* factor);
    /// sum ← 1/sum, out row ← out row·that; for a row that saw nothing both and max become 0.
    void (*finish)(int64_t rows, int64_t columns, T* out, int64_t row, T* max, T* sum);
    /// Σ_c a·b of each row.
    void (*inner)(int64_t rows, int64_t columns, const T* a, const T* b, int64_t row, T* out);
    /// z ← p = e^{z − max}·share, and g ← p·(g − D): from the cotangents of weights to those of logs.
    void (*unsoften)(int64_t rows, int64_t columns, T* z, T* g, int64_t row, const bool* seen,
                     const T* max, const T* share, const T* D);
    /// sums_c += Σ_r x_rc, in ascending r.
    void (*add_columns)(int64_t rows, int64_t columns, const T* x, int64_t row, T* sums);
    /// sums_r += Σ_c x_rc.
    void (*add_rows)(int64_t rows, int64_t columns, const T* x, int64_t row, T* sums);
    /// y row += 2·weight_r·x row: the derivative of ‖x‖².
    void (*add_norms)(int64_t rows, int64_t columns, const T* weight, const T* x, int64_t x_row,
                      T* y, int64_t y_row);
};

}  // namespace mercer::attention
