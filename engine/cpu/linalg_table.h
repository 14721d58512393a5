// Kernels of factorisations and eigenproblems on one instruction set.
#pragma once

#include <cstdint>

namespace mercer::cpu {

inline constexpr int64_t factor_block = 64;  // rows of a triangular factor, at most
inline constexpr int64_t lu_columns = 16;

/// For blocks of triangular factors.
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

inline constexpr int64_t tiny = 16;          // rows and columns, at most
inline constexpr int64_t tiny_steps = 8;     // of a product, at most
inline constexpr int64_t tiny_columns = 64;  // matrices in a tile, at most

/// For batches of tiny matrices. A tile holds element e of matrix c at e·columns + c, e along its rows.
template <class T>
struct TinyKernels {
    /// c = a·b, k at most tiny_steps, each element a chain of fma in ascending k.
    void (*multiply)(int64_t m, int64_t n, int64_t k, const T* a, const T* b, T* c,
                     int64_t columns);
    /// sums[0][j] = Σ_p x(p, j) y(p, j) of columns side by side, in the order of `lanes` (gemm.h), a row of sums for each; in a
    /// chain, lanes = 1. They are 0 before. Memory traffic: x and y once.
    void (*dots)(int64_t k, int64_t lanes, int64_t columns, const T* x, const T* y, int64_t row,
                 T* sums);
    /// As factor.h's of each matrix; false, and nothing said of l and x, if one of them fails. solve() destroys a.
    bool (*cholesky)(int64_t n, const T* a, T* l, int64_t columns);
    void (*solve_triangular)(int64_t n, int64_t k, const T* t, bool lower, T* x, int64_t columns);
    bool (*solve)(int64_t n, int64_t k, T* a, T* x, int64_t columns);
};

/// Symmetric eigenproblems: reduction to tridiagonal form, and the small tridiagonal problem.
template <class T>
struct TridiagonalKernels {
    /// What rows [first, last) of the lower triangle of a symmetric a give to a·x: sums_j, j < last, from zero. first is
    /// a multiple of 8.
    void (*multiply)(int64_t first, int64_t last, const T* a, int64_t a_row, const T* x, T* sums);
    /// y_j += Σ_t factor_t m_tj.
    void (*add_rows)(int64_t rows, int64_t n, const T* m, int64_t row, const T* factor, T* y);
    /// m_ij += factor_i x_j for `rows` rows of n elements.
    void (*add_outer)(int64_t rows, int64_t n, const T* factor, const T* x, T* m, int64_t row);
    /// (x, y) ← (c x + s y, c y − s x).
    void (*rotate)(int64_t n, T* x, T* y, T c, T s);
    /// The largest |x_j| of what is not NaN; of NaN alone −∞ or 0.
    T (*largest)(int64_t n, const T* x);
    /// Whether the first of the largest |x_j| is negative.
    bool (*falls)(int64_t n, const T* x);
    /// Eigenvalues, unsorted, to d from diagonal d and side e (n − 1 elements, lost); rows of z, as wide as `width`, turn
    /// along. `turns` has room for 2n. False if an eigenvalue does not converge.
    bool (*ql)(int64_t n, T* d, T* e, int64_t width, T* z, int64_t z_row, T* turns);
};

/// Eigenvalues of diag(d) + ρ z zᵀ, d ascending: λ_j in (d_j, d_{j+1}) solves 1/ρ + Σ_i z_i²/(d_i − λ) = 0. They are kept as
/// λ_j = near_j + by_j, near_j the closer of the two poles, so that d_i − λ_j = (d_i − near_j) − by_j is right to the last bits.
template <class T>
struct SecularKernels {
    /// Roots [first, last) of k. d has a further element, not read as a pole; z² too, 0. The last root is within `span`
    /// of d_k−1. Here and below, `first` is a multiple of 16.
    void (*roots)(int64_t first, int64_t last, int64_t k, const T* d, const T* z_squared,
                  T inverse_rho, T span, T* near, T* by);
    /// The |z_i|, i in [first, last), for which the roots are exact (Gu and Eisenstat 1994, eq. 3.3), with the signs of z.
    void (*exact)(int64_t first, int64_t last, int64_t k, const T* d, const T* z, const T* near,
                  const T* by, T* out);
    /// Unit eigenvectors of roots [first, last), element i ∝ z_i / (d_i − λ_j), to rows of k elements; row 0 is the first's.
    void (*vectors)(int64_t first, int64_t last, int64_t k, const T* d, const T* z, const T* near,
                    const T* by, T* out, int64_t out_row);
};

}  // namespace mercer::cpu
