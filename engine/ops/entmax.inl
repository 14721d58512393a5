// With q = p^{2−α} on the support, q̃ = q/Σ q, ε = α − 1 and ℓ = log p:
//   dx = q·(g − Σ g·q̃),   dα = Σ g·((p − q̃)/ε² − (p·ℓ − q̃·Σ pℓ)/ε),
// which tends to Σ g·p·(Σ pℓ² − ℓ²)/2 for ε → 0. Fenchel–Young: dx = g·(p − y).
#pragma once

#include <limits>
#include <type_traits>

#include "engine/functions.h"
#include "engine/ops/entmax.h"
#include "engine/ops/losses.h"

namespace mercer {

template <EntmaxAlpha kind>
template <class X>
void Entmax<kind>::vjp(Vjp<X>& c, const Attrs& attrs) {
    constexpr bool any = kind == EntmaxAlpha::any;
    if constexpr (std::is_same_v<X, Tensor>) {
        const bool wants_alpha = any && c.wants(1);
        const auto [dx, dalpha] =
            backward(attrs, c.out(), any ? c.in(1) : Tensor(), c.g(), wants_alpha);
        c.give(0, dx);
        if (wants_alpha) c.give(1, dalpha);
    } else {
        const X p = c.out(), g = c.g(), zero(Tensor::zeros({}, c.dtype())),
                one(Tensor::ones({}, c.dtype()));
        if (p.count() == 0) {  // rows of nothing have no largest
            c.give(0, p * g);
            if (any && c.wants(1)) c.give(1, sum_to(p * g, c.in_shape(1)));
            return;
        }
        const Tensor inside = greater(p, 0);
        X q(cast(inside, c.dtype())), safe, l;  // p^(2−α) on the support; p; log p
        if constexpr (kind != EntmaxAlpha::two) safe = where(inside, p, one);
        if constexpr (kind == EntmaxAlpha::three_halves) q = where(inside, sqrt(safe), zero);
        // Of α > 2 as in entmax_threshold.h: q is told from its largest, g from there.
        X ratio = q, away = g;
        if constexpr (any) {
            l = log(safe);
            const X power = (2.0 - c.in(1)) * l;
            const double most = c.dtype() == DType::f64 ? std::numeric_limits<double>::max()
                                                        : std::numeric_limits<float>::max();
            const Tensor t = where(inside, power.value(), Tensor::scalar(-most, c.dtype())),
                         high = max(t, {attrs.axis}, true);
            ratio = where(inside, exp(where(inside, power - X(high), zero)), zero);
            away = g - X(gather(g.value(), argmax(t, attrs.axis, true), attrs.axis));
            q = where(inside, minimum(exp(power), X(Tensor::scalar(most, c.dtype()))), zero);
        }
        const auto total = [&](const X& x) { return sum(x, {attrs.axis}, true); };
        const X all = total(ratio), share = ratio / where(equal(all, 0), one, all);
        const X pull = where(inside, q * away, zero);
        c.give(0, pull - share * total(pull));
        const X inner = where(inside, g, zero);
        if constexpr (any)
            if (c.wants(1)) {
                const X epsilon = c.in(1) - 1.0;
                const double least = c.dtype() == DType::f64 ? 1e-5 : 1e-2;
                const Tensor small = less(epsilon, least);
                const X e = where(small, one, epsilon);
                const X slope = (p - share) / square(e) - (p * l - share * total(p * l)) / e;
                const X limit = p * (total(p * square(l)) - square(l)) * 0.5;
                c.give(1, sum_to(inner * where(small, limit, slope), c.in_shape(1)));
            }
    }
}

template <class X>
void FenchelYoung::vjp(Vjp<X>& c, const Attrs& attrs) {
    if constexpr (std::is_same_v<X, Tensor>) {
        c.give(0, backward(attrs, c.in(0), c.in(1), c.out(1), c.out(2), c.out(3), c.g()));
    } else {
        const X p = entmax_with(c.in(0), attrs.alpha);
        c.give(0, unsqueeze(c.g(), -1) * (p - X(c.value(1))));
    }
}

MERCER_VALUE sparsemax(const MERCER_VALUE& x, int axis) { return perform_along<Entmax<EntmaxAlpha::two>>(axis, x); }
MERCER_VALUE entmax15(const MERCER_VALUE& x, int axis) {
    return perform_along<Entmax<EntmaxAlpha::three_halves>>(axis, x);
}
MERCER_VALUE entmax(const MERCER_VALUE& x, const MERCER_VALUE& alpha, int axis) {
    return perform<Entmax<EntmaxAlpha::any>>({normal_axis("entmax", axis, x.rank())}, x, alpha);
}
MERCER_VALUE fenchel_young(const MERCER_VALUE& x, const Tensor& target, double alpha, LossReduction reduction) {
    const MERCER_VALUE losses = perform<FenchelYoung>({alpha}, x, target)[0];
    return reduced_loss(losses, reduction, losses.count());
}

}  // namespace mercer
