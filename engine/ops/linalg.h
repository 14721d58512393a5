// Factorisations and solves over the last two axes; leading axes are a batch.
#pragma once

#include "engine/ops/op.h"

namespace mercer {

/// A = L·Lᵀ.
MERCER_OPERATION(Cholesky, "cholesky", Tensor, output_bit)

/// op(T)·X = B.
MERCER_OPERATION_ON(SolvedFor, TriangularSolve, "triangular_solve", Tensor, bool lower, transposed;)

/// op(A)·X = B by LU with partial pivoting. Inputs: A, B and, where they are known, results 1 and 2: A's factors and
/// exchanges, as cpu::lu() leaves them; op(A) is A where they are not. Undefined of tiny matrices, which are factored again.
MERCER_OPERATION(Solve, "solve", Tensors<3>,
                 input_bit(0) | output_bit | output_bit_of(1) | output_bit_of(2), bool transposed;)

/// A⁻¹ by LU.
MERCER_OPERATION(Inverse, "inverse", Tensor, output_bit)

/// A = V·diag(λ)·Vᵀ: λ ascending, V's columns.
MERCER_OPERATION(Eigh, "eigh", Tensors<2>, output_bit_of(0) | output_bit_of(1))

}  // namespace mercer
