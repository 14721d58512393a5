// C = A·B over the last two axes, leading axes broadcast; and what follows such a product in one pass.
#pragma once

#include "engine/attribute.h"
#include "engine/cpu/gemm.h"
#include "engine/error.h"
#include "engine/ops/reduce.h"

namespace mercer {

/// Operands of rank 2 or more; the function matmul() promotes vectors.
MERCER_OPERATION_ON(Bilinear<>, Matmul, "matmul", Tensor, cpu::Order order = cpu::Order::by_shape;)

/// y = activation(x·w + bias): x (…, k), w (k, n), bias (n) or undefined; y (…, n). A tape records the product and the bias
/// only (Activation::none) and the activation as an operation of its own, whose derivative wants the sums.
MERCER_OPERATION_ON(Bilinear<>, Linear, "linear", Tensor, Activation activation;)

/// Σ a·b over axes of the same shape: the products of rows and columns that lie along memory, whose order of sums it has.
MERCER_OPERATION_WITH(ReduceAttrs, Bilinear<>, Dot, "einsum", Tensor)
MERCER_API Tensor dot(const Tensor& a, const Tensor& b, unsigned axes);

/// What follows the sums of a product: a bias for each column and an activation, where given.
struct AfterProduct {
    Tensor bias;
    const cpu::PointwiseKernels* activation = nullptr;
};
/// out = activation(a·b + bias), all checked and of the right shapes.
void multiply_into(const Tensor& out, const Tensor& a, const Tensor& b,
                   const AfterProduct& after = {}, cpu::Order order = cpu::Order::by_shape);
/// matmul whose sums, and those of its gradients, have that order.
MERCER_API Tensor matmul_in(cpu::Order order, const Tensor& a, const Tensor& b);

/// All axes before the last as one.
template <class X>
X flat_rows(const X& x) {
    return reshape(x, {count(x.shape().part(0, x.rank() - 1)), x.shape().back()});
}

/// matmul for vectors and matrices: a rank-1 operand gains an axis for the product and loses it
/// after.
template <class X, class Product>
X promoted_matmul(const X& a, const X& b, Product product) {
    if (a.rank() < 1 || b.rank() < 1)
        throw ShapeError("matmul", "operands need an axis: lhs ", a.shape(), " vs rhs ", b.shape());
    if (a.rank() >= 2 && b.rank() >= 2) return product(a, b);
    const X left = a.rank() == 1 ? reshape(a, {1, a.shape()[0]}) : a;
    const X right = b.rank() == 1 ? reshape(b, {b.shape()[0], 1}) : b;
    const X out = product(left, right);
    Shape shape = out.shape();
    if (b.rank() == 1) shape.erase(shape.rank() - 1);
    if (a.rank() == 1) shape.erase(shape.rank() - (b.rank() == 1 ? 1 : 2));
    return reshape(out, shape);
}

}  // namespace mercer
