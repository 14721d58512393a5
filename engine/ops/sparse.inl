// The derivatives of T(values, dense, y) = Σ y·(A·dense) by two of its three operands.
#pragma once

#include "engine/ops/sparse.h"

namespace mercer {

template <class X>
SparsePattern pattern_of(Vjp<X>& c) {
    const SparsePattern p{c.value(2), c.value(3), c.value(4), c.value(5), c.value(6)};
    return c.wants(1) ? with_transpose(p, c.in_shape(1)[0]) : p;
}

/// Aᵀ·y, with the values of A.
template <class X>
X transposed_product(const SparsePattern& p, const X& values, const X& y) {
    return spmm(p.transposed_offsets, p.transposed_rows, index_select(values, p.transposed_order),
                y);
}

template <class X>
void Spmm::vjp(Vjp<X>& c, const Attrs&) {
    const SparsePattern p = pattern_of(c);
    if (c.wants(0))
        c.give(0, sddmm(p.offsets, p.columns, c.g(), c.in(1), p.transposed_offsets,
                        p.transposed_rows, p.transposed_order));
    if (c.wants(1)) c.give(1, transposed_product(p, c.in(0), c.g()));
}

template <class X>
void Sddmm::vjp(Vjp<X>& c, const Attrs&) {
    const SparsePattern p = pattern_of(c);
    if (c.wants(0))
        c.give(0, spmm(p.offsets, p.columns, c.g(), c.in(1), p.transposed_offsets,
                       p.transposed_rows, p.transposed_order));
    if (c.wants(1)) c.give(1, transposed_product(p, c.g(), c.in(0)));
}

MERCER_VALUE spmm(const Tensor& offsets, const Tensor& columns, const MERCER_VALUE& values, const MERCER_VALUE& dense,
                  const Tensor& transposed_offsets, const Tensor& transposed_rows, const Tensor& transposed_order) {
    return perform<Spmm>({}, values, dense, offsets, columns, transposed_offsets, transposed_rows, transposed_order);
}
MERCER_VALUE sddmm(const Tensor& offsets, const Tensor& columns, const MERCER_VALUE& a, const MERCER_VALUE& b,
                   const Tensor& transposed_offsets, const Tensor& transposed_rows, const Tensor& transposed_order) {
    return perform<Sddmm>({}, a, b, offsets, columns, transposed_offsets, transposed_rows, transposed_order);
}

}  // namespace mercer
