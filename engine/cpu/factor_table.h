// Kernels of triangular factors on one instruction set, for blocks of at most factor_block rows.
#pragma once

#include <cstdint>

namespace mercer::cpu {

inline constexpr int64_t factor_block = 64;
inline constexpr int64_t lu_columns = 16;

template <class T>
struct FactorKernels {
    /// b_i ← (b_i − Σ_{j<i} t_ij b_j) / t_ii (no division with `unit`), i ascending, for rows b_i of n elements;
    /// t(i, j) at t[i·t_row + j·t_col], b_i at b + i·b_row, in each of the panels. Strides may be negative.
    void (*substitute)(int64_t rows, int64_t n, const T* t, int64_t t_row, int64_t t_col, bool unit,
                       T* b, int64_t b_row, int64_t panels, int64_t apart);
    /// UᵀU = a on the upper triangle, in place; the first row whose pivot is not positive, or `rows`.
    int64_t (*cholesky)(int64_t rows, T* a, int64_t a_row);
    /// P·a = L·U in place, partial pivoting, on rows × columns (at most lu_columns); element (i, j) at a[i + j·a_col], in
    /// whole registers, zero beyond `rows`. At step j row pivots[j] was exchanged with row j. The first column whose pivot
    /// is zero or NaN, or `columns`.
    int64_t (*lu)(int64_t rows, int64_t columns, T* a, int64_t a_col, int64_t* pivots);
    void (*negate)(int64_t n, T* x);
};

}  // namespace mercer::cpu
