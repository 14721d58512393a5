// Derivatives of factorisations. Included by autograd/ops/linalg.cpp only.
#pragma once

#include "engine/ops/linalg.h"

namespace mercer {

/// Ā = sym(L⁻ᵀ Φ(Lᵀ L̄) L⁻¹), Φ the lower triangle with half its diagonal (Murray 2016, arXiv:1602.07527, eq. 10).
template <class X>
void Cholesky::vjp(Vjp<X>& c) {
    const X l = c.out(), lg = matmul(transpose(l), c.g());
    const X phi = (tril(lg) + tril(lg, -1)) * 0.5;
    const X left = triangular_solve(l, phi, true, true);
    const X s = transpose(triangular_solve(l, transpose(left), true, true));
    c.give(0, (s + transpose(s)) * 0.5);
}

/// B̄ = op(T)⁻ᵀ X̄; T̄ = −B̄ Xᵀ (or its transpose) on the triangle.
template <class X>
void TriangularSolve::vjp(Vjp<X>& c) {
    const Attrs& attrs = c.template attrs<Attrs>();
    const X gb = triangular_solve(c.in(0), c.g(), attrs.lower, !attrs.transposed);
    if (c.wants(1)) c.give(1, sum_to(gb, c.in_shape(1)));
    if (!c.wants(0)) return;
    const X x = c.out();
    const X gt = attrs.transposed ? matmul(x, transpose(gb)) : matmul(gb, transpose(x));
    c.give(0, sum_to(-(attrs.lower ? tril(gt) : triu(gt)), c.in_shape(0)));
}

/// B̄ = A⁻ᵀ X̄; Ā = −B̄ Xᵀ.
template <class X>
void Solve::vjp(Vjp<X>& c) {
    const X gb = solve(transpose(c.in(0)), c.g());
    if (c.wants(1)) c.give(1, sum_to(gb, c.in_shape(1)));
    if (c.wants(0)) c.give(0, sum_to(-matmul(gb, transpose(c.out())), c.in_shape(0)));
}

/// Ā = −Yᵀ Ȳ Yᵀ, Y = A⁻¹.
template <class X>
void Inverse::vjp(Vjp<X>& c) {
    const X yt = transpose(c.out());
    c.give(0, -matmul(matmul(yt, c.g()), yt));
}

/// Ā = V (diag(λ̄) + sym(F ∘ VᵀV̄)) Vᵀ, F_ij = 1/(λ_j − λ_i) off the diagonal, 0 on it (Giles 2008, section 3.1).
template <class X>
void Eigh::vjp(Vjp<X>& c) {
    const X values = c.out(0), v = c.out(1);
    const int64_t n = v.size(-1);
    const X eye(Tensor::eye(n, n, v.dtype()));
    X inner;
    if (c.g(0).defined()) inner = eye * unsqueeze(c.g(0), -1);
    if (c.g(1).defined()) {
        const X f = (1.0 - eye) / (unsqueeze(values, -2) - unsqueeze(values, -1) + eye);
        const X w = f * matmul(transpose(v), c.g(1));
        const X both = (w + transpose(w)) * 0.5;
        inner = inner.defined() ? inner + both : both;
    }
    c.give(0, matmul(matmul(v, inner), transpose(v)));
}

}  // namespace mercer
