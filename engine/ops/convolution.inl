// The derivatives of T(x, w, y) = Σ y·conv(x, w) by two of its three operands.
#pragma once

#include <type_traits>

#include "engine/ops/convolution.h"

namespace mercer {

/// x's by the adjoint; w's from the two in the order in which Conv2d meets them; a bias' over the batch and both spatial axes.
template <class Adjoint, class X>
void convolution_vjp(Vjp<X>& c, const ConvolutionAttrs& attrs, bool transposed) {
    const X g = c.g();
    if (c.wants(0)) c.give(0, perform<Adjoint>(attrs, g, c.in(1), X()));
    if (c.wants(1))
        c.give(1, transposed ? perform<Conv2dWeights>(attrs, g, c.in(0))
                             : perform<Conv2dWeights>(attrs, c.in(0), g));
    if (c.wants(2)) c.give(2, sum(sum(g, {2, 3}), {0}));
}

MERCER_VJP(Conv2d, convolution_vjp<ConvTranspose2d>(c, a, false))
MERCER_VJP(ConvTranspose2d, convolution_vjp<Conv2d>(c, a, true))

template <class X>
void Conv2dWeights::vjp(Vjp<X>& c, const Attrs& attrs) {
    if (c.wants(0)) c.give(0, perform<ConvTranspose2d>(attrs, c.in(1), c.g(), X()));
    if (c.wants(1)) c.give(1, perform<Conv2d>(attrs, c.in(0), c.g(), X()));
}

MERCER_VALUE conv1d(const MERCER_VALUE& x, const MERCER_VALUE& w, const MERCER_VALUE& bias,
                    int64_t stride, Padding padding, int64_t dilation, int64_t groups,
                    const Shape& pads) {
    const ConvolutionAttrs attrs = convolution_attrs("conv1d", 1, x.shape(), w.shape(), {stride},
                                                     padding, {dilation}, groups, pads);
    return without_row(perform<Conv2d>(attrs, with_row(x), with_row(w), bias));
}
MERCER_VALUE conv2d(const MERCER_VALUE& x, const MERCER_VALUE& w, const MERCER_VALUE& bias,
                    const Shape& stride, Padding padding, const Shape& dilation, int64_t groups,
                    const Shape& pads) {
    return perform<Conv2d>(convolution_attrs("conv2d", 2, x.shape(), w.shape(), stride, padding, dilation, groups, pads),
                           x, w, bias);
}
MERCER_VALUE conv_transpose1d(const MERCER_VALUE& x, const MERCER_VALUE& w,
                              const MERCER_VALUE& bias, int64_t stride, const Shape& pads,
                              int64_t dilation, int64_t groups, int64_t output_padding) {
    const ConvolutionAttrs attrs =
        transposed_attrs("conv_transpose1d", 1, x.shape(), w.shape(), {stride}, pads, {dilation},
                         groups, {output_padding});
    return without_row(perform<ConvTranspose2d>(attrs, with_row(x), with_row(w), bias));
}
MERCER_VALUE conv_transpose2d(const MERCER_VALUE& x, const MERCER_VALUE& w,
                              const MERCER_VALUE& bias, const Shape& stride, const Shape& pads,
                              const Shape& dilation, int64_t groups, const Shape& output_padding) {
    const ConvolutionAttrs attrs = transposed_attrs("conv_transpose2d", 2, x.shape(), w.shape(), stride, pads, dilation,
                                                    groups, output_padding);
    return perform<ConvTranspose2d>(attrs, x, w, bias);
}

/// dx[j] = Σ g over the windows whose largest element stands at j.
template <class X>
void MaxPool2d::vjp(Vjp<X>& c, const Attrs& attrs) {
    if constexpr (std::is_same_v<X, Tensor>) return c.give(0, backward(attrs, c.in(0), c.g()));
    const Tensor at = indices(attrs, c.value(0));
    const Shape x = c.in_shape(0);
    const X rows = reshape(c.g(), {x[0] * x[1], at.size(1)});
    c.give(0, reshape(scatter_add(rows, at, 1, x[2] * x[3]), x));
}

MERCER_VALUE max_pool1d(const MERCER_VALUE& x, int64_t kernel, int64_t stride, const Shape& pads) {
    const CalledAs called("max_pool1d");
    const ConvolutionAttrs windows =
        window_attrs("max_pool1d", 1, x.shape(), {kernel}, {stride ? stride : kernel}, pads);
    return without_row(perform<MaxPool2d>(windows, with_row(x)));
}
MERCER_VALUE max_pool2d(const MERCER_VALUE& x, const Shape& kernel, const Shape& stride,
                        const Shape& pads) {
    return perform<MaxPool2d>(window_attrs("max_pool2d", 2, x.shape(), kernel, stride, pads), x);
}
MERCER_VALUE avg_pool1d(const MERCER_VALUE& x, int64_t kernel, int64_t stride, const Shape& pads,
                        bool count_include_pad) {
    const CalledAs called("avg_pool1d");
    const ConvolutionAttrs windows =
        window_attrs("avg_pool1d", 1, x.shape(), {kernel}, {stride ? stride : kernel}, pads);
    return without_row(average_of_windows(with_row(x), windows, count_include_pad));
}
MERCER_VALUE avg_pool2d(const MERCER_VALUE& x, const Shape& kernel, const Shape& stride,
                        const Shape& pads, bool count_include_pad) {
    return average_of_windows(x, window_attrs("avg_pool2d", 2, x.shape(), kernel, stride, pads),
                              count_include_pad);
}

}  // namespace mercer
