// Kernels of symmetric eigenproblems on one instruction set.
#pragma once

#include <cstdint>

namespace mercer::cpu {

/// Reduction to tridiagonal form, and the small tridiagonal problem.
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
