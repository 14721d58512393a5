// Convolution, its adjoint in x and its adjoint in w. Each is linear in both operands, and their derivatives are each
// other: with T(x, w, y) = Σ y·conv(x, w), the three are ∂T/∂y, ∂T/∂x and ∂T/∂w.
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

}  // namespace mercer
