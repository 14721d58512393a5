// Blocked Cholesky, LU and triangular solves on row-major matrices: blocks by kernels, the rest by our GEMM. The same
// bits on every instruction set and any number of threads.
#pragma once

#include <cstdint>

#include "engine/cpu/gemm.h"

namespace mercer::cpu {

/// UᵀU = a from the upper triangle of a (n×n, contiguous), in place; zeros below. The order of the first leading minor
/// that is not positive, or 0. n³/3 flops.
template <class T>
int64_t cholesky_upper(int64_t n, T* a);

/// T·X = b in place, b n×k contiguous; T lower (else upper) triangular, its other half not read. n²k flops.
template <class T>
void solve_triangular(int64_t n, int64_t k, MatrixView<const T> t, bool lower, bool unit, T* b);

/// P·a = L·U in place (unit L below the diagonal), rows exchanged in the order of pivots[i] ≥ i. One plus the first column
/// without a pivot, or 0. 2n³/3 flops.
template <class T>
int64_t lu(int64_t n, T* a, int64_t* pivots);

}  // namespace mercer::cpu
