// The derivatives of a pointwise formula, from the formula.
//
// For y = f(x₀ … xₙ₋₁) elementwise and a cotangent g:
//   first:   ĝx_k = g·f_k, f_k by Dual<V> or by the formula's own df(x, y)
//   second:  with cotangents c_k of the ĝx_k, h = Σ_k c_k f_k is a directional derivative, so
//            ∂/∂g = h and ∂/∂x_j = g·∂h/∂x_j,
//            by Dual<Dual<V>>: inner direction c, outer direction e_j
#pragma once

#include "engine/ops/pointwise/formula.h"
#include "engine/simd/dual.h"

namespace mercer::MERCER_ISA {

template <class Op>
concept HasOwnDerivative = requires(Op op, Vec<float> x) {
    op.df(x, x);
};

template <class Op, class V, int n>
MERCER_INLINE V apply(const Op& op, const V (&x)[n]) {
    if constexpr (n == 1)
        return op.f(x[0]);
    else if constexpr (n == 2)
        return op.f(x[0], x[1]);
    else if constexpr (n == 3)
        return op.f(x[0], x[1], x[2]);
    else
        return op.f(x[0], x[1], x[2], x[3]);
}

/// t_i = x_i, with derivative 1 for i = k; the others are constants, known as such when compiled.
template <int k, int i = 0, int n, class V>
MERCER_INLINE void seed(const V (&x)[n], Dual<V> (&t)[n]) {
    if constexpr (i == k)
        t[i] = Dual<V>(x[i], V(typename V::Scalar(1)));
    else
        t[i] = Dual<V>(x[i]);
    if constexpr (i + 1 < n) seed<k, i + 1>(x, t);
}

/// Σ_k direction_k·f_k at x; `y` is f(x), read only by formulas with a derivative of their own.
template <class Op, int n, class V>
MERCER_INLINE V directional(const Op& op, const V (&x)[n], V y, const V (&direction)[n]) {
    if constexpr (HasOwnDerivative<Op>) {
        return op.df(x[0], y) * direction[0];
    } else {
        Dual<V> t[n];
        for (int k = 0; k < n; ++k) t[k] = Dual<V>(x[k], direction[k]);
        return apply(op, t).d;
    }
}

/// f_k at x.
template <int k, class Op, int n, class V>
MERCER_INLINE V partial(const Op& op, const V (&x)[n], V y) {
    if constexpr (HasOwnDerivative<Op>) {
        return op.df(x[0], y);
    } else {
        Dual<V> t[n];
        seed<k>(x, t);
        return apply(op, t).d;
    }
}

/// h = Σ_k c_k f_k and ∂h/∂x_j.
template <int j, class Op, int n, class V>
MERCER_INLINE Dual<V> second(const Op& op, const V (&x)[n], V y, const V (&c)[n]) {
    Dual<V> xs[n], cs[n];
    seed<j>(x, xs);
    seed<-1>(c, cs);
    const Dual<V> ys(y, partial<j>(op, x, y));
    return directional(op, xs, ys, cs);
}

}  // namespace mercer::MERCER_ISA
