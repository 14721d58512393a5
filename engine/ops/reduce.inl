// Adjoints of reductions. Included by autograd/ops/reduce.cpp only.
#pragma once

#include <cmath>
#include <vector>

#include "engine/functions.h"
#include "engine/ops/reduce.h"

namespace mercer {

/// The cotangent of a reduction repeated over what was reduced.
template <class X>
X spread(Vjp<X>& c) {
    const unsigned axes = c.template attrs<ReduceAttrs>().axes;
    return broadcast_to(reshape(c.g(), kept_shape(c.in_shape(0), axes)), c.in_shape(0));
}

template <class X>
void Sum::vjp(Vjp<X>& c) {
    c.give(0, spread(c));
}

template <class X>
void Mean::vjp(Vjp<X>& c) {
    c.give(0, spread(c) * (1.0 / double(reduced_count(c.in_shape(0),
                                                      c.template attrs<ReduceAttrs>().axes))));
}

/// Equal extrema share: g · [x = y] / #[x = y]
template <class X>
void extremum_vjp(Vjp<X>& c) {
    const unsigned axes = c.template attrs<ReduceAttrs>().axes;
    const Shape kept = kept_shape(c.in_shape(0), axes);
    const Tensor hit = equal(c.value(0), reshape(c.out_value(), kept));
    const Tensor hits = sum_to(cast(hit, c.dtype()), kept);
    const X share = broadcast_to(reshape(c.g(), kept) / X(hits), c.in_shape(0));
    c.give(0, where(hit, share, X(Tensor::zeros({}, c.dtype()))));
}

template <class X>
void Max::vjp(Vjp<X>& c) {
    extremum_vjp(c);
}
template <class X>
void Min::vjp(Vjp<X>& c) {
    extremum_vjp(c);
}

inline std::vector<int> axes_of(unsigned mask) {
    std::vector<int> axes;
    for (int i = 0; i < Dims::max_rank; ++i)
        if (mask & (1u << i)) axes.push_back(i);
    return axes;
}

/// dx_j = g · Π_{k<j} x_k · Π_{k>j} x_k over the reduced axes as one line: no division, so zeros are no exception.
template <class X>
void Prod::vjp(Vjp<X>& c) {
    const unsigned axes = c.template attrs<Attrs>().axes;
    const Shape from = c.in_shape(0);
    std::vector<int> order = axes_of(~axes & ((1u << from.rank()) - 1u)), back(size_t(from.rank()));
    Shape line, moved;
    for (int a : order) line.push_back(from[a]);
    const Shape kept = line;
    line.push_back(reduced_count(from, axes));
    for (int a : axes_of(axes)) order.push_back(a);
    for (size_t k = 0; k < order.size(); ++k) {
        back[size_t(order[k])] = int(k);
        moved.push_back(from[order[k]]);
    }
    if (line.back() == 0) return c.give(0, X(Tensor::zeros(from, c.dtype())));
    Shape column = kept;
    column.push_back(1);
    const X x = reshape(permute(c.in(0), std::span<const int>(order)), line);
    const X others = cumprod(x, -1, true) * cumprod(x, -1, true, true);
    c.give(0, permute(reshape(others * reshape(c.g(), column), moved), std::span<const int>(back)));
}

/// x − mean
template <class X>
X centred(Vjp<X>& c) {
    const X x = c.in(0);
    return x - mean(x, std::span<const int>(axes_of(c.template attrs<VarianceAttrs>().axes)), true);
}

/// g · 2(x − mean) / (n − correction)
template <class X>
void Variance::vjp(Vjp<X>& c) {
    const Attrs& a = c.template attrs<Attrs>();
    const X g = reshape(c.g(), kept_shape(c.in_shape(0), a.axes));
    c.give(0, centred(c) * (g * (2 / degrees_of_freedom(c.in_shape(0), a))));
}

/// a / b, and 0 where b is 0.
template <class X>
X quotient_or_zero(const X& a, const X& b) {
    const Tensor none = equal(b, 0);
    const X zero(Tensor::zeros({}, b.dtype())), one(Tensor::ones({}, b.dtype()));
    return where(none, zero, a / where(none, one, b));
}

/// g · (x − mean) / ((n − correction) σ)
template <class X>
void Deviation::vjp(Vjp<X>& c) {
    const Attrs& a = c.template attrs<Attrs>();
    const Shape kept = kept_shape(c.in_shape(0), a.axes);
    const X g = reshape(c.g(), kept) / degrees_of_freedom(c.in_shape(0), a);
    c.give(0, centred(c) * quotient_or_zero(g, reshape(c.out(), kept)));
}

/// x · a / y for y = ‖x‖, which may be so faint that 1/y overflows.
template <class X>
X times_over_norm(const X& x, const X& a, const X& y, const Tensor& norm) {
    const bool wide = x.dtype() == DType::f64;
    const Tensor faint = less(norm, wide ? 0x1p-1022 : 0x1p-126);
    if (!any(faint).item<bool>()) return x * quotient_or_zero(a, y);
    const X up(reshape(cast(faint, x.dtype()) * (wide ? 0x1p512 : 0x1p64) + 1.0, y.shape()));
    return (x * up) * quotient_or_zero(a, y * up);
}

/// g · sign(x) (|x|/y)^(p−1); p = 2: g x / y; p = ∞: equal extrema share g; p = 0: a step, 0.
template <class X>
void NormP::vjp(Vjp<X>& c) {
    const Attrs& a = c.template attrs<Attrs>();
    const Shape kept = kept_shape(c.in_shape(0), a.axes);
    const X g = reshape(c.g(), kept), y = reshape(c.out(), kept), x = c.in(0);
    if (a.p == 0) return c.give(0, X(Tensor::zeros(c.in_shape(0), c.dtype())));
    if (a.p == 2) return c.give(0, times_over_norm(x, g, y, c.out_value()));
    const X sign(cast(greater(x, 0), c.dtype()) - cast(less(x, 0), c.dtype()));
    if (a.p == 1) return c.give(0, sign * g);
    if (std::isinf(a.p)) {
        const Tensor hit = cast(equal(abs(c.value(0)), reshape(c.out_value(), kept)), c.dtype());
        return c.give(0, sign * X(hit) * (g / X(sum_to(hit, kept))));
    }
    const X one(Tensor::ones({}, c.dtype()));  // stands for x = 0, where the sign is 0
    const X ratio = where(equal(x, 0), one, times_over_norm(abs(x), one, y, c.out_value()));
    c.give(0, sign * pow(ratio, X(Tensor::scalar(a.p - 1, c.dtype()))) * g);
}

}  // namespace mercer
