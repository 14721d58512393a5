// Derivatives of factorisations.
#pragma once

#include "engine/ops/linalg.h"

namespace mercer {

/// Ā = sym(L⁻ᵀ Φ(Lᵀ L̄) L⁻¹), Φ the lower triangle with half its diagonal (Murray 2016, arXiv:1602.07527, eq. 10).
template <class X>
void Cholesky::vjp(Vjp<X>& c, const Attrs&) {
    const X l = c.out(), lg = matmul(transpose(l), c.g());
    const X phi = (tril(lg) + tril(lg, -1)) * 0.5;
    const X left = triangular_solve(l, phi, true, true);
    const X s = transpose(triangular_solve(l, transpose(left), true, true));
    c.give(0, (s + transpose(s)) * 0.5);
}

/// What op(A)⁻ᵀX̄ = B̄ makes of the coefficients: −B̄ Xᵀ, or its transpose.
template <class X>
X coefficients_of(const X& gb, const X& x, bool transposed) {
    return -(transposed ? matmul(x, transpose(gb)) : matmul(gb, transpose(x)));
}

/// B̄ = op(T)⁻ᵀ X̄; T̄ = −B̄ Xᵀ (or its transpose) on the triangle.
template <class X>
void TriangularSolve::vjp(Vjp<X>& c, const Attrs& attrs) {
    const X gb = triangular_solve(c.in(0), c.g(), attrs.lower, !attrs.transposed);
    if (c.wants(1)) c.give(1, sum_to(gb, c.in_shape(1)));
    if (!c.wants(0)) return;
    const X gt = coefficients_of(gb, c.out(), attrs.transposed);
    c.give(0, sum_to(attrs.lower ? tril(gt) : triu(gt), c.in_shape(0)));
}

/// B̄ = op(A)⁻ᵀ X̄; Ā = −B̄ Xᵀ, or its transpose.
template <class X>
void Solve::vjp(Vjp<X>& c, const Attrs& attrs) {
    const Tensor factors = c.out_value(1);
    const X gb =
        factors.defined()
            ? perform<Solve>({!attrs.transposed}, c.in(0), c.g(), factors, c.out_value(2))[0]
            : solve(transpose(c.in(0)), c.g());
    if (c.wants(1)) c.give(1, sum_to(gb, c.in_shape(1)));
    if (c.wants(0)) c.give(0, sum_to(coefficients_of(gb, c.out(), attrs.transposed), c.in_shape(0)));
}

/// Ā = −Yᵀ Ȳ Yᵀ, Y = A⁻¹.
template <class X>
void Inverse::vjp(Vjp<X>& c, const Attrs&) {
    const X yt = transpose(c.out());
    c.give(0, -matmul(matmul(yt, c.g()), yt));
}

/// Ā = V (diag(λ̄) + S) Vᵀ, S = sym(F ∘ M), M = VᵀV̄, F_ij = 1/(λ_j − λ_i) off the diagonal (Giles 2008, section 3.1): F is
/// skew, so that S_ij = (M_ij/2 − M_ji/2) / (λ_j − λ_i).
template <class X>
void Eigh::vjp(Vjp<X>& c, const Attrs&) {
    const X v = c.out(1);
    if (!c.g(1).defined()) return c.give(0, matmul(v * unsqueeze(c.g(0), -2), transpose(v)));
    const X l = c.out(0), m = matmul(transpose(v), c.g(1)) * 0.5;
    const X eye(Tensor::eye(v.size(-1), -1, v.dtype()));
    X inner = (m - transpose(m)) / (unsqueeze(l, -2) - unsqueeze(l, -1) + eye);
    if (c.g(0).defined()) inner = eye * unsqueeze(c.g(0), -1) + inner;
    c.give(0, matmul(matmul(v, inner), transpose(v)));
}

MERCER_VALUE cholesky(const MERCER_VALUE& a) { return perform<Cholesky>({}, a); }
MERCER_VALUE inverse(const MERCER_VALUE& a) { return perform<Inverse>({}, a); }
MERCER_VALUE triangular_solve(const MERCER_VALUE& t, const MERCER_VALUE& b, bool lower, bool transposed) {
    return perform<TriangularSolve>({lower, transposed}, t, b);
}
MERCER_VALUE solve(const MERCER_VALUE& a, const MERCER_VALUE& b) {
    return perform<Solve>({false}, a, b, Tensor(), Tensor())[0];
}
std::pair<MERCER_VALUE, MERCER_VALUE> eigh(const MERCER_VALUE& a) {
    const auto [values, vectors] = perform<Eigh>({}, a);
    return {values, vectors};
}

}  // namespace mercer
