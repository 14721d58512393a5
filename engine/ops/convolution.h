// Convolution, its adjoint in x and its adjoint in w. Each is linear in both operands, and their derivatives are each
// other: with T(x, w, y) = Σ y·conv(x, w), the three are ∂T/∂y, ∂T/∂x and ∂T/∂w.
// Pooling: the largest of each window, and their averages.
#pragma once

#include "engine/attribute.h"
#include "engine/cpu/convolution.h"
#include "engine/ops/op.h"

namespace mercer {

/// in: of x, out: of y, whichever of the two is computed.
struct ConvolutionAttrs {
    cpu::ConvolutionAxis axis[2];
    int64_t groups;
    const char* operation;  // the function that was called, for errors
};

/// x (N, C, H, W), w (O, C/groups, KH, KW), bias (O) or undefined; y (N, O, …).
MERCER_OPERATION_WITH(ConvolutionAttrs, Bilinear<>, Conv2d, "conv2d", Tensor)

/// y, w, bias (C) or undefined; x.
MERCER_OPERATION_WITH(ConvolutionAttrs, Bilinear<>, ConvTranspose2d, "conv_transpose2d", Tensor)

/// x, y; w.
MERCER_OPERATION_WITH(ConvolutionAttrs, Bilinear<>, Conv2dWeights, "conv2d_weights", Tensor)

/// Of one or two spatial axes (one: the first of Attrs is trivial); checks shapes and numbers.
MERCER_API ConvolutionAttrs convolution_attrs(const char* operation, int axes, const Shape& x,
                                              const Shape& w, const Shape& stride, Padding padding,
                                              const Shape& dilation, int64_t groups,
                                              const Shape& pads);
MERCER_API ConvolutionAttrs transposed_attrs(const char* operation, int axes, const Shape& x,
                                             const Shape& w, const Shape& stride, const Shape& pads,
                                             const Shape& dilation, int64_t groups,
                                             const Shape& output_padding);

/// `numbers` for each of `axes` axes: itself, or its only number repeated. ShapeError naming `what`.
Shape for_each_axis(const char* operation, const char* what, const Shape& numbers, int axes,
                    int64_t least);
/// (before, after) for each axis, from one number, one for each axis, or two; none is 0.
Shape pads_for_axes(const char* operation, const Shape& pads, int axes);

/// (N, C, L) and (N, C, 1, L).
template <class X>
X with_row(const X& x) {
    return x.rank() == 3 ? reshape(x, {x.size(0), x.size(1), 1, x.size(2)}) : x;
}
template <class X>
X without_row(const X& x) {
    return reshape(x, {x.size(0), x.size(1), x.size(3)});
}

/// x (N, C, H, W).
struct MERCER_API MaxPool2d : Reads<input_bit(0)> {
    using Attrs = ConvolutionAttrs;
    MERCER_OPERATION_MEMBERS("max_pool2d", Tensor)
    /// Where each largest element stands in its plane: i64 (N·C, windows). First of equals, first NaN. As backward():
    /// ShapeError where a place is no number of x's width, from planes of 2^31 (f32) on.
    static Tensor indices(const Attrs&, const Tensor& x);
    /// The cotangent of x in one pass: first order only, tested against the text of vjp.
    static Tensor backward(const Attrs&, const Tensor& x, const Tensor& g);
};

/// Windows over one or two spatial axes; a stride that is absent is the kernel. Checks shapes and numbers.
MERCER_API ConvolutionAttrs window_attrs(const char* operation, int axes, const Shape& x,
                                         const Shape& kernel, const Shape& stride,
                                         const Shape& pads);

/// Sums of windows by a depthwise convolution with ones, over their sizes; of whole planes, their means.
template <class X>
X average_of_windows(const X& x, ConvolutionAttrs windows, bool count_include_pad) {
    const int64_t down = windows.axis[0].kernel, across = windows.axis[1].kernel;
    const Shape one{1, 1, down, across};
    bool inside = true, whole = true;  // every window; of one window, its plane
    for (const cpu::ConvolutionAxis& a : windows.axis) {
        inside = inside && a.before == 0 && (a.out - 1) * a.stride + a.kernel <= a.in;
        whole = whole && inside && a.kernel == a.in;
    }
    if (whole && is_floating(x.dtype())) return mean(x, {2, 3}, true);
    windows.groups = std::max<int64_t>(1, x.size(1));
    const Shape each{x.size(1), std::min<int64_t>(1, x.size(1)), down, across};
    const X sums = perform<Conv2d>(windows, x, X(Tensor::ones(each, x.dtype())), X());
    if (inside || count_include_pad) return sums / double(down * across);
    windows.groups = 1;
    const Shape plane{1, 1, windows.axis[0].in, windows.axis[1].in};
    return sums / X(perform<Conv2d>(windows, Tensor::ones(plane, x.dtype()),
                                    Tensor::ones(one, x.dtype()), Tensor()));
}

}  // namespace mercer
