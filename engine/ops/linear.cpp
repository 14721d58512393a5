#include "engine/ops/linear.h"

#include "engine/cpu/pointwise.h"
#include "engine/error.h"
#include "engine/functions.h"
#include "engine/ops/matmul.h"
#include "engine/ops/require.h"

namespace mercer {

const cpu::PointwiseKernels& relu_kernels();  // engine/ops/pointwise.cpp
const cpu::PointwiseKernels& gelu_kernels();
const cpu::PointwiseKernels& tanh_kernels();
const cpu::PointwiseKernels& sigmoid_kernels();

namespace {

const cpu::PointwiseKernels* kernels_of(Activation activation) {
    switch (activation) {
        case Activation::none: return nullptr;
        case Activation::relu: return &relu_kernels();
        case Activation::gelu: return &gelu_kernels();
        case Activation::tanh: return &tanh_kernels();
        case Activation::sigmoid: return &sigmoid_kernels();
    }
    throw ValueError("linear", "no activation has the number ", int(activation));
}

void check(const Tensor& x, const Tensor& w, const Tensor& bias) {
    require_same_dtype("linear", x, w, "x", "w");
    if (bias.defined()) require_same_dtype("linear", x, bias, "x", "bias");
    require_floating("linear", x);
    if (x.rank() < 1 || w.rank() != 2)
        throw ShapeError("linear", "takes x (…, k) and w (k, n), got x ", x.shape(), ", w ",
                         w.shape());
    if (x.shape().back() != w.shape()[0])
        throw ShapeError("linear", "inner dimensions differ: x ", x.shape(), " vs w ", w.shape());
    if (bias.defined() && !(bias.shape() == Shape{w.shape()[1]}))
        throw ShapeError("linear", "bias ", bias.shape(), " must have shape (", w.shape()[1],
                         "), as w ", w.shape(), " has columns");
}

}  // namespace

Tensor Linear::forward(const Attrs& attrs, std::span<const Tensor> in) {
    const OperationScope scope(name, in);
    const Tensor &x = in[0], &w = in[1], &bias = in[2];
    check(x, w, bias);
    Shape shape = x.shape();
    shape[shape.rank() - 1] = w.shape()[1];
    const Tensor out = Tensor::empty(shape, x.dtype());
    const AfterProduct after{bias, kernels_of(attrs.activation)};
    if (x.rank() > 1)
        multiply_into(out, x, w, after);
    else
        multiply_into(flat_rows(out), flat_rows(x), w, after);
    return out;
}

Tensor linear(const Tensor& x, const Tensor& w, const Tensor& bias, Activation activation) {
    return perform<Linear>({activation}, x, w, bias);
}

}  // namespace mercer
