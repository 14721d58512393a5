// Products with a sparse matrix A (n, m) in CSR: row i has values[k] at column columns[k], offsets[i] ≤ k < offsets[i + 1].
// spmm and sddmm are linear in both operands, and their derivatives are each other: with
// T(values, dense, y) = Σ y·(A·dense), they are ∂T/∂y and ∂T/∂values; ∂T/∂dense is spmm with Aᵀ.
#pragma once

#include "engine/ops/op.h"

namespace mercer {

/// A matrix's pattern; its transpose (csr_transpose), or undefined: then made when a derivative needs it.
struct SparsePattern {
    Tensor offsets, columns, transposed_offsets, transposed_rows, transposed_order;
};

/// values (e), dense (m, d), then the pattern; (n, d).
MERCER_OPERATION_ON(Bilinear<0b1111100u>, Spmm, "spmm", Tensor)

/// a (n, d), b (m, d), then the pattern; (e).
MERCER_OPERATION_ON(Bilinear<0b1111100u>, Sddmm, "sddmm", Tensor)

/// With the transpose filled in, for a matrix of m columns.
MERCER_API SparsePattern with_transpose(const SparsePattern& p, int64_t m);

}  // namespace mercer
