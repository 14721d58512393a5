// Products with a sparse matrix A (n, m) in CSR: row i has values[k] at column columns[k], offsets[i] ≤ k < offsets[i + 1].
// spmm and sddmm are linear in both operands, and their derivatives are each other: with
// T(values, dense, y) = Σ y·(A·dense), they are ∂T/∂y and ∂T/∂values; ∂T/∂dense is spmm with Aᵀ.
#pragma once

#include <span>

#include "engine/ops/op.h"
#include "engine/tensor.h"

namespace mercer {

/// A matrix's pattern; its transpose (csr_transpose), or undefined: then made when a derivative needs it.
struct SparsePattern {
    Tensor offsets, columns, transposed_offsets, transposed_rows, transposed_order;
};

/// values (e), dense (m, d), then the pattern; (n, d).
struct MERCER_API Spmm {
    static constexpr const char* name = "spmm";
    struct Attrs {};
    static Tensor forward(const Attrs&, std::span<const Tensor> x);
    static constexpr unsigned needs(unsigned wanted) {
        return 0b1111100u | (wants_input(wanted, 0) ? input_bit(1) : 0) |
               (wants_input(wanted, 1) ? input_bit(0) : 0);
    }
    template <class X>
    static void vjp(Vjp<X>& c);
};

/// a (n, d), b (m, d), then the pattern; (e).
struct MERCER_API Sddmm {
    static constexpr const char* name = "sddmm";
    struct Attrs {};
    static Tensor forward(const Attrs&, std::span<const Tensor> x);
    static constexpr unsigned needs(unsigned wanted) { return Spmm::needs(wanted); }
    template <class X>
    static void vjp(Vjp<X>& c);
};

/// With the transpose filled in, for a matrix of m columns.
MERCER_API SparsePattern with_transpose(const SparsePattern& p, int64_t m);

}  // namespace mercer
