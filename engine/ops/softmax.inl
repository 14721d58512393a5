// dx = y·(g − Σ g·y); of the logarithm g − exp(y)·Σ g, and 0 where y = −∞.
// d log Σ exp = softmax; dx of the cross entropy = w·(softmax − target).
#pragma once

#include <limits>
#include <type_traits>

#include "engine/functions.h"
#include "engine/ops/losses.h"
#include "engine/ops/softmax.h"

namespace mercer {

template <bool logarithm>
template <class X>
void SoftmaxOf<logarithm>::vjp(Vjp<X>& c, const Attrs& attrs) {
    const X y = c.out(), g = c.g();
    const auto total = [&](const X& x) { return sum(x, {attrs.axis}, true); };
    if constexpr (std::is_same_v<X, Tensor>) {
        c.give(0, backward(attrs, y, g));
    } else if constexpr (logarithm) {
        const Tensor none = equal(y.value(), -std::numeric_limits<double>::infinity());
        c.give(0, where(none, X(Tensor::zeros({}, c.dtype())), g - exp(y) * total(g)));
    } else {
        c.give(0, y * (g - total(g * y)));
    }
}

MERCER_VALUE softmax(const MERCER_VALUE& x, int axis) { return perform_along<Softmax>(axis, x); }
MERCER_VALUE log_softmax(const MERCER_VALUE& x, int axis) { return perform_along<LogSoftmax>(axis, x); }

template <class X>
void LogSumExp::vjp(Vjp<X>& c, const Attrs& attrs) {
    if constexpr (std::is_same_v<X, Tensor>) {
        c.give(0, backward(attrs, c.in(0), c.out(1), c.out(2), c.g()));
    } else {
        const X zero(Tensor::zeros({}, c.dtype())), y = c.out();
        const Shape kept = kept_shape(c.in_shape(0), attrs.axes);
        const Tensor none = equal(y.value(), -std::numeric_limits<double>::infinity());
        const X log_sum = reshape(where(none, zero, y), kept);
        c.give(0, reshape(c.g(), kept) * exp(c.in(0) - log_sum));
    }
}

template <class X>
void CrossEntropy::vjp(Vjp<X>& c, const Attrs& attrs) {
    const Tensor ids = c.value(1);
    if constexpr (std::is_same_v<X, Tensor>) {
        c.give(0, backward(attrs, c.in(0), ids, c.out(1), c.out(2), c.g()));
    } else {
        const X x = c.in(0);
        const Tensor labels = row_labels(name, x.shape(), ids, attrs.ignore);
        const Tensor ignored = less(labels, 0);
        const Tensor hit = equal(unsqueeze(labels, -1), Tensor::arange(x.size(-1), DType::i64));
        const X target(cast(hit, x.dtype()) * (1 - attrs.smoothing) +
                       attrs.smoothing / double(x.size(-1)));
        const X w = loss_weights(c.g(), attrs.reduction, labelled(labels), labels.shape());
        c.give(0, where(unsqueeze(ignored, -1), X(Tensor::zeros({}, c.dtype())),
                        unsqueeze(w, -1) * (softmax(x) - target)));
    }
}

/// −w at the class of each row; 0 else.
template <class X>
void NllLoss::vjp(Vjp<X>& c, const Attrs& attrs) {
    const Shape shape = c.in_shape(0);
    if (shape.back() == 0) return c.give(0, X(Tensor::zeros(shape, c.dtype())));
    const Tensor labels = row_labels(name, shape, c.value(1), attrs.ignore),
                 ignored = less(labels, 0);
    const X w = loss_weights(c.g(), attrs.reduction, labelled(labels), labels.shape());
    const X share = where(ignored, X(Tensor::zeros({}, c.dtype())), -w);
    const Tensor index = where(ignored, Tensor::zeros({}, DType::i64), labels);
    c.give(0, scatter_add(unsqueeze(share, -1), unsqueeze(index, -1), -1, shape.back()));
}

MERCER_VALUE logsumexp(const MERCER_VALUE& x, std::span<const int> axes, bool keep) {
    return perform<LogSumExp>(reduce_axes("logsumexp", axes, x.rank(), keep), x)[0];
}
MERCER_VALUE cross_entropy(const MERCER_VALUE& logits, const Tensor& ids, double smoothing, int64_t ignore,
                           LossReduction reduction) {
    return perform<CrossEntropy>({smoothing, ignore, reduction}, logits, ids)[0];
}
MERCER_VALUE nll_loss(const MERCER_VALUE& log_p, const Tensor& ids, int64_t ignore, LossReduction reduction) {
    return perform<NllLoss>({ignore, reduction}, log_p, ids);
}

}  // namespace mercer
