// With x̂ = (x − μ)·s and h = g·gain: dx = s·(h − mean h − x̂·mean(h·x̂)), dgain = Σ g·x̂, dbias = Σ g;
// μ = 0 and no mean h for the root-mean-square form.
#pragma once

#include "engine/ops/norm.h"
#include "engine/ops/reduce.h"
#include "engine/ops/require.h"

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

// By channel: with x̂ = (x − μ)·r, r = 1/√(σ² + ε), h = g·gain, over the n elements of a channel:
//   dx = r·(h − mean h − x̂·mean(h·x̂)) + g_μ/n + g_σ²·2(x − μ)/n, dgain = Σ g·x̂, dbias = Σ g,
// g_μ and g_σ² the cotangents of the batch's mean and variance.

/// All axes but that of the channels, as a mask.
constexpr unsigned beside_channels(int rank) { return ((1u << rank) - 1u) & ~2u; }

template <class X>
void ChannelAffine::vjp(Vjp<X>& c, const Attrs&) {
    const Shape shape = channel_shape(name, c.out_shape(0));
    const X x = c.in(0), mean = c.in(1), scale = c.in(2), g = c.g();
    const bool parameters = c.wants(1) || c.wants(2) || c.wants(3);
    X dx, sum_g, sum_gx;
    if constexpr (std::is_same_v<X, Tensor>)
        if (parameters) {
            const Tensor factor = scale.defined() ? scale : Tensor::ones({shape[1]}, g.dtype());
            const auto all = channel_sums(x, mean, g, c.wants(0) ? factor : Tensor());
            sum_g = all[0], sum_gx = all[1], dx = all[2];
        }
    if (!sum_g.defined()) {
        const auto by_channel = [&](const X& t) { return reshape(t, shape); };
        dx = scale.defined() ? g * by_channel(scale) : g;
        if (parameters) {
            const std::vector<int> axes = axes_of(beside_channels(x.rank()));
            sum_g = sum(g, axes);
            sum_gx = sum(g * (mean.defined() ? x - by_channel(mean) : x), axes);
        }
    }
    if (c.wants(0)) c.give(0, dx);
    if (c.wants(1)) c.give(1, -(scale.defined() ? scale * sum_g : sum_g));
    if (c.wants(2)) c.give(2, sum_gx);
    if (c.wants(3)) c.give(3, sum_g);
}

template <class X>
void BatchNorm::vjp(Vjp<X>& c, const Attrs& a) {
    const Shape shape = channel_shape(name, c.out_shape(0));
    const double n = double(count(c.out_shape(0)) / shape[1]);
    if constexpr (std::is_same_v<X, Tensor>)
        if (c.g(0).defined()) {
            const Tensor x = c.in(0), gain = c.in(1), mean = c.out(1), g = c.g(0);
            const auto [sum_g, sum_gx, none] = channel_sums(x, mean, g, {});
            const Tensor r = 1.0 / sqrt(c.out(2) + a.epsilon), scale = gain.defined() ? r * gain : r;
            Tensor slope = -(scale * square(r) * sum_gx) / n, shift = -(scale * sum_g) / n;
            if (c.g(1).defined()) shift = shift + c.g(1) / n;
            if (c.g(2).defined()) slope = slope + c.g(2) * (2 / n);
            if (c.wants(0)) c.give(0, channel_affine(x, mean, slope, shift, g, scale));
            if (c.wants(1)) c.give(1, r * sum_gx);
            if (c.wants(2)) c.give(2, sum_g);
            return;
        }
    // Recorded again from x: mean and variance as values know no derivative.
    const unsigned beside = beside_channels(shape.rank());
    const std::vector<int> axes = axes_of(beside);
    const auto by_channel = [&](const X& t) { return reshape(t, shape); };
    const X x = c.in(0), gain = c.in(1), away = deviations(x, beside);
    X dx;
    const auto add = [&](const X& more) { dx = dx.defined() ? dx + more : more; };
    if (const X g = c.g(0); g.defined()) {
        const X r = 1.0 / sqrt(mean(square(away), axes, true) + a.epsilon), xhat = away * r;
        const X h = gain.defined() ? g * by_channel(gain) : g;
        add(r * (h - mean(h, axes, true) - xhat * mean(h * xhat, axes, true)));
        if (c.wants(1)) c.give(1, sum(g * xhat, axes));
        if (c.wants(2)) c.give(2, sum(g, axes));
    }
    if (c.g(1).defined()) add(broadcast_to(by_channel(c.g(1)) / n, x.shape()));
    if (c.g(2).defined()) add(away * (by_channel(c.g(2)) * (2 / n)));
    if (c.wants(0)) c.give(0, dx);
}

std::array<MERCER_VALUE, 3> batch_norm(const MERCER_VALUE& x, const MERCER_VALUE& gain, const MERCER_VALUE& bias,
                                       double epsilon) {
    return perform<BatchNorm>({epsilon}, x, gain, bias);
}

#include "engine/ops/composed/norms.inc"

}  // namespace mercer
