#include "engine/ops/matmul.h"

#include <algorithm>
#include <array>
#include <bit>
#include <vector>

#include "engine/cpu/layout.h"
#include "engine/cpu/pointwise.h"
#include "engine/cpu/tiny.h"
#include "engine/error.h"
#include "engine/functions.h"
#include "engine/ops/require.h"
#include "engine/parallel.h"
#include "engine/scratch.h"

namespace mercer {

const cpu::PointwiseKernels& relu_kernels();  // engine/ops/pointwise.cpp
const cpu::PointwiseKernels& gelu_kernels();
const cpu::PointwiseKernels& tanh_kernels();
const cpu::PointwiseKernels& sigmoid_kernels();

namespace {

Shape product_shape(const Tensor& a, const Tensor& b) {
    require_same_dtype("matmul", a, b);
    require_floating("matmul", a);
    if (a.shape().back() != b.shape()[b.rank() - 2])
        throw ShapeError("matmul", "inner dimensions differ: lhs ", a.shape(), " vs rhs ",
                         b.shape());
    Shape shape =
        cpu::broadcast_shape("matmul", cpu::batch_shape(a.shape()), cpu::batch_shape(b.shape()));
    shape.push_back(a.shape()[a.rank() - 2]);
    shape.push_back(b.shape().back());
    return shape;
}

Strides batch_strides(const Tensor& t, const Shape& batch) {
    return cpu::broadcast_strides("matmul", cpu::batch_shape(t.shape()), t.strides(), batch);
}

// Offsets of every entry of the broadcast batch in one operand.
std::vector<int64_t> batch_offsets(const Shape& batch, const Strides& strides) {
    std::vector<int64_t> offsets{0};
    offsets.reserve(size_t(count(batch)));
    for (int axis = batch.rank() - 1; axis >= 0; --axis)
        for (size_t i = 0, inner = offsets.size(), all = inner * size_t(batch[axis] - 1); i < all;
             ++i)
            offsets.push_back(offsets[i] + strides[axis]);
    return offsets;
}

template <class T>
cpu::MatrixView<const T> matrix(const Tensor& t) {
    return {static_cast<const T*>(t.raw()), t.strides()[t.rank() - 2], t.strides()[t.rank() - 1]};
}

/// Many tiny products by tiles; false: they are something else.
template <class T>
bool multiply_tiny(int64_t m, int64_t n, int64_t k, const cpu::MatrixView<const T>& a,
                   const cpu::MatrixView<const T>& b, const cpu::MatrixView<T>& c,
                   const Shape& batch, const std::array<Strides, 3>& strides) {
    // Where more is to be turned over than that, one after the other takes no longer.
    if (k == 0 || k > cpu::tiny_steps || m * k + k * n + m * n > 80 || c.col != 1 || c.row != n)
        return false;
    const cpu::Walk walk = cpu::plan_walk(batch, strides);
    const int last = walk.shape.rank() - 1;
    const auto apart = [&](size_t operand) { return walk.strides[operand][last]; };
    if (walk.cols() < 16 || apart(0) != m * n) return false;
    walk.for_pieces(cpu::tiny_columns, 1, [&](const int64_t* at, int64_t first, int64_t count) {
        Scratch scratch;
        const auto read = [&](size_t operand, const cpu::MatrixView<const T>& from, int64_t rows,
                              int64_t columns) {
            const T* const data = from.data + at[operand] + first * apart(operand);
            return cpu::read_tile<T>(scratch, rows, columns, count,
                                     {data, from.row, from.col, apart(operand)});
        };
        T *x = read(1, a, m, k), *y = read(2, b, k, n), *z = scratch.take<T>(m * n * count);
        tiny_kernels<T>().multiply(m, n, k, x, y, z, count);
        cpu::write_tile(m * n, count, z, c.data + at[0] + first * m * n);
    });
    return true;
}

template <class T>
void multiply(const Tensor& out, const Tensor& a, const Tensor& b, const AfterProduct& after,
              cpu::Order order) {
    cpu::Epilogue<T> epilogue;
    epilogue.activation = after.activation;
    if (after.bias.defined()) {
        epilogue.bias = static_cast<const T*>(after.bias.raw());
        epilogue.bias_step = after.bias.strides()[0];
    }
    const int64_t m = a.shape()[a.rank() - 2], k = a.shape().back(), n = b.shape().back();
    const cpu::MatrixView<T> c{static_cast<T*>(out.raw()), out.strides()[out.rank() - 2],
                               out.strides()[out.rank() - 1]};
    const Shape batch = cpu::batch_shape(out.shape());
    if (count(batch) == 1)
        return cpu::gemm<T>(m, n, k, matrix<T>(a), matrix<T>(b), c, false, epilogue, order);
    const auto x = matrix<T>(a), y = matrix<T>(b);
    const std::array<Strides, 3> strides{batch_strides(out, batch), batch_strides(a, batch),
                                         batch_strides(b, batch)};
    if (order != cpu::Order::chain) order = cpu::order_by_shape(m, n, k, x, y);
    if (order == cpu::Order::chain && !epilogue.any() && !cpu::gemm_by_openblas() &&
        multiply_tiny(m, n, k, x, y, c, batch, strides))
        return;
    const auto at_c = batch_offsets(batch, strides[0]), at_a = batch_offsets(batch, strides[1]),
               at_b = batch_offsets(batch, strides[2]);
    cpu::gemm_batched<T>(count(batch), m, n, k, x, at_a.data(), y, at_b.data(), c, at_c.data(),
                         false, epilogue, order);
}

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

void check_linear(const Tensor& x, const Tensor& w, const Tensor& bias) {
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

void multiply_into(const Tensor& out, const Tensor& a, const Tensor& b, const AfterProduct& after,
                   cpu::Order order) {
    if (out.count() == 0) return;
    // One tall product.
    if (a.rank() > 2 && b.rank() == 2 && a.is_contiguous() && out.is_contiguous())
        return multiply_into(flat_rows(out), flat_rows(a), b, after, order);
    visit_floating(a.dtype(), [&]<class T>(T) { multiply<T>(out, a, b, after, order); });
}

Tensor Matmul::forward(const Attrs& attrs, TensorRefs x) {
    Tensor out = Tensor::empty(product_shape(x[0], x[1]), x[0].dtype());
    multiply_into(out, x[0], x[1], {}, attrs.order);
    return out;
}

Tensor Linear::forward(const Attrs& attrs, TensorRefs in) {
    const Tensor &x = in[0], &w = in[1], &bias = in[2];
    check_linear(x, w, bias);
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

Tensor Dot::forward(const Attrs& attrs, TensorRefs x) {
    const Shape shape = x[0].shape();
    const AxesLast axes(shape, attrs.axes);
    const Tensor out = Tensor::empty(kept_shape(shape, attrs.axes), x[0].dtype());
    const int first = std::countr_zero(attrs.axes), last = std::bit_width(attrs.axes);
    const int64_t k = axes.n, row = count(shape.part(last, shape.rank()));
    if (row < 16 || last - first > std::popcount(attrs.axes) || !out.count() ||
        !x[0].is_contiguous() || !x[1].is_contiguous()) {
        multiply_into(reshape(out, {axes.rows, 1, 1}), reshape(axes.last(x[0]), {axes.rows, 1, k}),
                      reshape(axes.last(x[1]), {axes.rows, k, 1}));
        return finished(out, attrs);
    }
    visit_floating(out.dtype(), [&]<class T>(T) {
        // Columns whose sums stay in L1.
        const int64_t lanes = k < cpu::sum_lanes<T> ? 1 : cpu::sum_lanes<T>,
                      piece = std::clamp<int64_t>(row / thread_count() / 16 * 16, 16, 256),
                      pieces = (row + piece - 1) / piece;
        parallel_each(axes.rows / row * pieces, grain_for(k * piece), [&](int64_t item) {
            const int64_t outer = item / pieces * row, column = item % pieces * piece,
                          columns = std::min(piece, row - column);
            Scratch scratch;
            T* const sums = scratch.take<T>(lanes * columns);
            std::fill_n(sums, lanes * columns, T(0));
            tiny_kernels<T>().dots(k, lanes, columns, x[0].data<T>() + outer * k + column,
                                   x[1].data<T>() + outer * k + column, row, sums);
            std::copy_n(sums, columns, static_cast<T*>(out.raw()) + outer + column);
        });
    });
    return finished(out, attrs);
}

void matmul_into(Tensor& out, const Tensor& a, const Tensor& b) {
    if (a.rank() < 2 || b.rank() < 2)
        throw ShapeError("matmul_into", "operands need two axes: lhs ", a.shape(), " vs rhs ",
                         b.shape());
    const Shape shape = product_shape(a, b);
    if (!(out.shape() == shape) || out.dtype() != a.dtype())
        throw ShapeError("matmul_into", "out is ", out, ", the product ",
                         to_string(a.dtype(), shape));
    if (out.storage() == a.storage() || out.storage() == b.storage())
        throw InPlaceError("matmul_into",
                           "out shares memory with an operand; write to another tensor");
    {
        const OperationScope scope("matmul_into", {&a, &b});
        out.before_write();
        if (instruments::on()) [[unlikely]]
            instruments::made(out);
        multiply_into(out, a, b);
    }
    instruments::settle();
}

}  // namespace mercer
