// Blocked Cholesky, LU, triangular solves and symmetric eigenproblems on row-major matrices: blocks by kernels, the rest by
// the products' kernels. The same bits on every instruction set and any number of threads.
#pragma once

#include <cstdint>

#include "engine/cpu/gemm.h"

namespace mercer::cpu {

/// lower·lowerᵀ = a from the lower triangle of a (n×n, both contiguous); zeros above. The order of the first leading minor
/// that is not positive, or 0. n³/3 flops.
template <class T>
int64_t cholesky(int64_t n, const T* a, T* lower);

/// T·X = b in place, b n×k, T lower (else upper) triangular, its other half not read; `identity`: b is the first k columns
/// of the identity, T lower. n²k flops (then n³/3 of k = n).
template <class T>
void solve_triangular(int64_t n, int64_t k, MatrixView<const T> t, bool lower, bool unit,
                      MatrixView<T> b, bool identity = false);

/// P·a = L·U in place (unit L below the diagonal), rows exchanged in the order of pivots[i] ≥ i. One plus the first column
/// without a pivot (all else is then unspecified), or 0. 2n³/3 flops.
template <class T>
int64_t lu(int64_t n, T* a, int64_t* pivots);

/// b ← a⁻¹ b (a⁻ᵀ b if `transposed`) for n×k, contiguous, a as lu left it. 2n²k flops.
template <class T>
void lu_solve(int64_t n, int64_t k, const T* factors, const int64_t* pivots, bool transposed, T* b);

/// a⁻¹, n×n, contiguous, from what lu left. 4n³/3 flops.
template <class T>
void lu_inverse(int64_t n, const T* factors, const int64_t* pivots, T* inverse);

/// Eigenvalues and vectors of a symmetric matrix: Householder reduction to tridiagonal form in panels, Cuppen's divide and
/// conquer, and back through the reflections as products.
/// a = V·diag(λ)·Vᵀ for n×n, contiguous, finite; its lower triangle is read. λ ascending; V's columns,
/// the largest component of each positive. False if an eigenvalue of a small block does not converge. ≈ 4/3 n³ + 4/3 n³ + 2n³
/// flops, less what deflates.
template <class T>
bool eigh(int64_t n, const T* a, T* values, T* vectors);

}  // namespace mercer::cpu
