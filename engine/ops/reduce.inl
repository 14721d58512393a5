// Adjoints of reductions.
#pragma once

#include <cmath>
#include <type_traits>

#include "engine/functions.h"
#include "engine/ops/reduce.h"

namespace mercer {

/// The cotangent of a reduction repeated over what was reduced.
template <class X>
X spread(Vjp<X>& c, unsigned axes) {
    return broadcast_to(reshape(c.g(), kept_shape(c.in_shape(0), axes)), c.in_shape(0));
}

MERCER_VJP(Sum, c.give(0, spread(c, a.axes)))
MERCER_VJP(Mean, c.give(0, spread(c, a.axes) * (1.0 / double(reduced_count(c.in_shape(0), a.axes)))))

/// Equal extrema share: g · [x = y] / #[x = y]; of a row whose extremum is NaN, its NaNs.
template <class X>
void extremum_vjp(Vjp<X>& c, unsigned axes) {
    const Shape kept = kept_shape(c.in_shape(0), axes);
    const Tensor y = reshape(c.out_value(), kept), hit = attained(c.value(0), y, holds_nan(y));
    const Tensor hits = how_many(hit, axes, c.dtype());
    const X share = broadcast_to(reshape(c.g(), kept) / X(hits), c.in_shape(0));
    c.give(0, where(hit, share, X(Tensor::zeros({}, c.dtype()))));
}

MERCER_VJP(Max, extremum_vjp(c, a.axes))
MERCER_VJP(Min, extremum_vjp(c, a.axes))

/// dx_j = g · Π_{k<j} x_k · Π_{k>j} x_k over the reduced axes as one line: no division, so zeros are no exception.
template <class X>
void Prod::vjp(Vjp<X>& c, const Attrs& a) {
    const AxesLast t(c.in_shape(0), a.axes);
    if (t.n == 0) return c.give(0, X(Tensor::zeros(c.in_shape(0), c.dtype())));
    if (a.axes == 0) return c.give(0, c.g());
    const X g = reshape(c.g(), kept_shape(c.in_shape(0), a.axes));
    if constexpr (std::is_same_v<X, Tensor>) return c.give(0, prod_gradient(c.in(0), a.axes, g));
    const X x = t.lines(c.in(0)), others = cumprod(x, -1, true) * cumprod(x, -1, true, true);
    c.give(0, t.restored(others) * g);
}

/// g · 2(x − mean) / (n − correction)
template <class X>
void Variance::vjp(Vjp<X>& c, const Attrs& a) {
    const X g = reshape(c.g(), kept_shape(c.in_shape(0), a.axes));
    c.give(0, deviations(c.in(0), a.axes) * (g * (2 / degrees_of_freedom(c.in_shape(0), a))));
}

/// (x / y) · g for a norm y of x, so that g / y need not be in range; 0 where y is 0.
template <class X>
X over_norm(const X& x, const X& y, const X& g) {
    const Tensor none = equal(y, 0);
    const X zero(Tensor::zeros({}, y.dtype())), one(Tensor::ones({}, y.dtype()));
    return x / where(none, one, y) * where(none, zero, g);
}

/// g · (x − mean) / ((n − correction) σ)
template <class X>
void Deviation::vjp(Vjp<X>& c, const Attrs& a) {
    const Shape kept = kept_shape(c.in_shape(0), a.axes);
    const X g = reshape(c.g(), kept) / degrees_of_freedom(c.in_shape(0), a);
    c.give(0, over_norm(deviations(c.in(0), a.axes), reshape(c.out(), kept), g));
}

/// With u = |x|/m, m = max |x|, which is a constant here: g · sign(x) u^(p−1) (Σ u^p)^(1/p − 1); p = 2: g x / y; p = ∞: equal
/// extrema share g; p = 0: a step, 0. Above p = 1 powers of u stay in range; no rounding of y is raised to p.
template <class X>
void NormP::vjp(Vjp<X>& c, const Attrs& a) {
    const Shape kept = kept_shape(c.in_shape(0), a.axes);
    const X g = reshape(c.g(), kept), x = c.in(0);
    if (a.p == 0) return c.give(0, X(Tensor::zeros(c.in_shape(0), c.dtype())));
    if (a.p == 2) return c.give(0, over_norm(x, reshape(c.out(), kept), g));
    const X sign(cast(greater(x, 0), c.dtype()) - cast(less(x, 0), c.dtype()));
    if (a.p == 1) return c.give(0, sign * g);
    if (std::isinf(a.p)) {
        const Tensor hit = cast(equal(abs(c.value(0)), reshape(c.out_value(), kept)), c.dtype());
        return c.give(0, sign * X(hit) * (g / X(sum_to(hit, kept))));
    }
    const auto power = [&](const X& of, double p) {
        return pow(of, X(Tensor::scalar(p, c.dtype())));
    };
    const X zero(Tensor::zeros({}, c.dtype())), one(Tensor::ones({}, c.dtype()));
    const Tensor none = equal(c.value(0), 0), top = largest_magnitude(c.value(0), a.axes);
    const X u = where(none, one, abs(x) / X(top));  // 1 stands for x = 0, where the sign is 0
    const X v = where(none, zero, power(u, a.p - 1)), sum = sum_to(v * u, kept);
    const X factor = power(where(equal(sum, 0), one, sum), 1 / a.p - 1) * g;
    c.give(0, where(none, zero, sign * v * factor));
}

}  // namespace mercer
