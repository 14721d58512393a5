// The derivatives of T(x, w, y) = Σ y·conv(x, w) by two of its three operands. Included by autograd/ops/convolution.cpp
// only.
#pragma once

#include "engine/ops/convolution.h"

namespace mercer {

/// The cotangent of a bias: over the batch and both spatial axes.
template <class X>
X bias_cotangent(const X& g) {
    return sum(sum(g, {2, 3}), {0});
}

template <class X>
void Conv2d::vjp(Vjp<X>& c) {
    const Attrs& attrs = c.template attrs<Attrs>();
    if (c.wants(0)) c.give(0, convolve_transpose(c.g(), c.in(1), X(), attrs));
    if (c.wants(1)) c.give(1, convolve_weights(c.in(0), c.g(), attrs));
    if (c.wants(2)) c.give(2, bias_cotangent(c.g()));
}

template <class X>
void ConvTranspose2d::vjp(Vjp<X>& c) {
    const Attrs& attrs = c.template attrs<Attrs>();
    if (c.wants(0)) c.give(0, convolve(c.g(), c.in(1), X(), attrs));
    if (c.wants(1)) c.give(1, convolve_weights(c.g(), c.in(0), attrs));
    if (c.wants(2)) c.give(2, bias_cotangent(c.g()));
}

template <class X>
void Conv2dWeights::vjp(Vjp<X>& c) {
    const Attrs& attrs = c.template attrs<Attrs>();
    if (c.wants(0)) c.give(0, convolve_transpose(c.in(1), c.g(), X(), attrs));
    if (c.wants(1)) c.give(1, convolve(c.in(0), c.g(), X(), attrs));
}

}  // namespace mercer
