// Eigenvalues and vectors of a symmetric matrix: Householder reduction to tridiagonal form in panels, Cuppen's divide and
// conquer, and back through the reflections as products. The same bits on every instruction set and any number of threads.
#pragma once

#include <cstdint>

namespace mercer::cpu {

/// a = V·diag(λ)·Vᵀ for n×n, contiguous, finite; its lower triangle is read. λ ascending; V's columns,
/// the largest component of each positive. False if an eigenvalue of a small block does not converge. ≈ 4/3 n³ + 4/3 n³ + 2n³
/// flops, less what deflates.
template <class T>
bool eigh(int64_t n, const T* a, T* values, T* vectors);

}  // namespace mercer::cpu
