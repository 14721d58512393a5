// Factorisations and solves over the last two axes; leading axes are a batch.
#pragma once

#include "engine/ops/op.h"

namespace mercer {

/// A = L·Lᵀ.
MERCER_OPERATION(Cholesky, "cholesky", Tensor, output_bit)

/// op(T)·X = B.
MERCER_OPERATION_ON(SolvedFor, TriangularSolve, "triangular_solve", Tensor, bool lower, transposed;)

/// A·X = B by LU with partial pivoting.
MERCER_OPERATION_ON(SolvedFor, Solve, "solve", Tensor)

/// A⁻¹ by LU.
MERCER_OPERATION(Inverse, "inverse", Tensor, output_bit)

/// A = V·diag(λ)·Vᵀ: λ ascending, V's columns.
MERCER_OPERATION(Eigh, "eigh", Tensors<2>, output_bit_of(0) | output_bit_of(1))

}  // namespace mercer
