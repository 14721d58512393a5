// Adjoints of scans.
#pragma once

#include <type_traits>

#include "engine/ops/scan.h"

namespace mercer {

/// y_t = x_{t−1} along `axis`, 0 first; in a reversed scan y_t = x_{t+1}, 0 last.
template <class X>
X delayed(const X& x, int axis, bool reverse) {
    const int64_t n = x.size(axis), first = reverse ? 0 : 1;
    return n == 0 ? x : unslice(slice(x, axis, 1 - first, n - first), x.shape(), axis, first, 1);
}

MERCER_VJP(Cumsum, c.give(0, cumsum(c.g(), a.axis, a.exclusive, !a.reverse)))

/// With y_t = Π_{k≤t} x_k: dx_j = (Π_{k<j} x_k) · r_j, where r_j = g_j + x_{j+1} r_{j+1}; no division, so zeros are
/// no exception. An exclusive product is an inclusive one, delayed.
template <class X>
void Cumprod::vjp(Vjp<X>& c, const Attrs& a) {
    if constexpr (std::is_same_v<X, Tensor>) return c.give(0, cumprod_gradient(a, c.in(0), c.g()));
    const X x = c.in(0), g = a.exclusive ? delayed(c.g(), a.axis, !a.reverse) : c.g();
    const X tail = linear_recurrence(delayed(x, a.axis, !a.reverse), g, a.axis, !a.reverse);
    c.give(0, cumprod(x, a.axis, true, a.reverse) * tail);
}

/// What an extremum gets goes to the element that it was.
MERCER_VJP(Cummax, give_back(c, a.axis))
MERCER_VJP(Cummin, give_back(c, a.axis))

/// λ_t = g_t + a_{t+1} λ_{t+1}; db = λ, da_t = λ_t h_{t−1}
template <class X>
void LinearRecurrence::vjp(Vjp<X>& c, const Attrs& s) {
    const X back =
        linear_recurrence(delayed(c.in(0), s.axis, !s.reverse), c.g(), s.axis, !s.reverse);
    if (c.wants(0)) c.give(0, back * delayed(c.out(), s.axis, s.reverse));
    if (c.wants(1)) c.give(1, back);
}

MERCER_VALUE cumsum(const MERCER_VALUE& x, int axis, bool exclusive, bool reverse) {
    return perform_along<Cumsum>(axis, x, exclusive, reverse);
}
MERCER_VALUE cumprod(const MERCER_VALUE& x, int axis, bool exclusive, bool reverse) {
    return perform_along<Cumprod>(axis, x, exclusive, reverse);
}
std::pair<MERCER_VALUE, Tensor> cummax(const MERCER_VALUE& x, int axis, bool reverse) {
    return with_indices(perform_along<Cummax>(axis, x, reverse));
}
std::pair<MERCER_VALUE, Tensor> cummin(const MERCER_VALUE& x, int axis, bool reverse) {
    return with_indices(perform_along<Cummin>(axis, x, reverse));
}
MERCER_VALUE linear_recurrence(const MERCER_VALUE& a, const MERCER_VALUE& b, int axis, bool reverse) {
    return perform<LinearRecurrence>({normal_axis("linear_recurrence", axis, b.rank()), reverse}, a, b);
}

}  // namespace mercer
