// With x̂ = (x − μ)·s and h = g·gain: dx = s·(h − mean h − x̂·mean(h·x̂)), dgain = Σ g·x̂, dbias = Σ g;
// μ = 0 and no mean h for the root-mean-square form.
#pragma once

#include "engine/ops/deviations.h"
#include "engine/ops/norm.h"

namespace mercer {

template <bool centred>
template <class X>
void RowNorm<centred>::vjp(Vjp<X>& c, const Attrs& attrs) {
    const bool parameters = c.wants(1) || c.wants(2);
    if constexpr (std::is_same_v<X, Tensor>) {
        const auto [dx, dgain, dbias] = backward(c.in(0), c.in(1), c.out(1), c.out(2), c.g(),
                                                 parameters, attrs);
        c.give(0, dx);
        if (c.wants(1)) c.give(1, reshape(dgain, c.in_shape(1)));
        if (c.wants(2)) c.give(2, reshape(dbias, c.in_shape(2)));
    } else {
        // Recorded again from x: mean and scale as values know no derivative.
        const X x = c.in(0), gain = c.in(1), g = c.g();
        const unsigned rows = ((1u << attrs.axes) - 1u) << (x.rank() - attrs.axes);
        const std::vector<int> axes = axes_of(rows);
        X centre = x;
        if constexpr (centred) centre = deviations(x, rows);
        const X scale = 1.0 / sqrt(mean(square(centre), axes, true) + attrs.epsilon);
        const X xhat = centre * scale, h = gain.defined() ? g * gain : g;
        X dh = h - xhat * mean(h * xhat, axes, true);
        if constexpr (centred) dh = dh - mean(h, axes, true);
        c.give(0, scale * dh);
        if (c.wants(1)) c.give(1, sum_to(g * xhat, c.in_shape(1)));
        if (c.wants(2)) c.give(2, sum_to(g, c.in_shape(2)));
    }
}

MERCER_VALUE layer_norm(const MERCER_VALUE& x, const MERCER_VALUE& gain, const MERCER_VALUE& bias, double epsilon) {
    return perform<RowNorm<true>>(RowNorm<true>::attrs(gain, bias, epsilon), x, gain, bias)[0];
}
MERCER_VALUE rms_norm(const MERCER_VALUE& x, const MERCER_VALUE& gain, double epsilon) {
    const MERCER_VALUE none;
    return perform<RowNorm<false>>(RowNorm<false>::attrs(gain, none, epsilon), x, gain, none)[0];
}

}  // namespace mercer
