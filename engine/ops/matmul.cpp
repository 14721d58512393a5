#include "engine/ops/matmul.h"

#include <vector>

#include "engine/cpu/layout.h"
#include "engine/error.h"
#include "engine/functions.h"
#include "engine/ops/require.h"

namespace mercer {
namespace {

Shape product_shape(const Tensor& a, const Tensor& b) {
    require_same_dtype("matmul", a, b);
    require_floating("matmul", a);
    if (a.rank() < 1 || b.rank() < 1)
        throw ShapeError("matmul", "operands need an axis: lhs " + to_string(a.shape()) +
                                       " vs rhs " + to_string(b.shape()));
    if (a.shape().back() != b.shape()[b.rank() - 2])
        throw ShapeError("matmul", "inner dimensions differ: lhs " + to_string(a.shape()) +
                                       " vs rhs " + to_string(b.shape()));
    Shape shape =
        cpu::broadcast_shape("matmul", cpu::batch_shape(a.shape()), cpu::batch_shape(b.shape()));
    shape.push_back(a.shape()[a.rank() - 2]);
    shape.push_back(b.shape().back());
    return shape;
}

// Offsets of every entry of the broadcast batch in one operand.
std::vector<int64_t> batch_offsets(const Tensor& t, const Shape& batch) {
    const Shape own = cpu::batch_shape(t.shape());
    const Strides strides = cpu::broadcast_strides("matmul", own, t.strides(), batch);
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
    const auto at_a = batch_offsets(a, batch), at_b = batch_offsets(b, batch),
               at_c = batch_offsets(out, batch);
    cpu::gemm_batched<T>(count(batch), m, n, k, matrix<T>(a), at_a.data(), matrix<T>(b),
                         at_b.data(), c, at_c.data(), false, epilogue, order);
}

}  // namespace

void multiply_into(const Tensor& out, const Tensor& a, const Tensor& b, const AfterProduct& after,
                   cpu::Order order) {
    if (out.count() == 0) return;
    if (a.rank() > 2 && b.rank() == 2 && a.is_contiguous() &&
        out.is_contiguous()) {  // one tall product
        return multiply_into(flat_rows(out), flat_rows(a), b, after, order);
    }
    visit_floating(a.dtype(), [&]<class T>(T) { multiply<T>(out, a, b, after, order); });
}

Tensor Matmul::forward(const Attrs& attrs, std::span<const Tensor> x) {
    const OperationScope scope(name, x);
    Tensor out = Tensor::empty(product_shape(x[0], x[1]), x[0].dtype());
    multiply_into(out, x[0], x[1], {}, attrs.order);
    return out;
}

Tensor matmul_in(cpu::Order order, const Tensor& a, const Tensor& b) {
    if (a.rank() < 1 || b.rank() < 1) product_shape(a, b);
    return promoted_matmul(a, b, [order](const Tensor& l, const Tensor& r) {
        return compute<Matmul>({order}, {l, r});
    });
}

Tensor matmul(const Tensor& a, const Tensor& b) { return matmul_in(cpu::Order::by_shape, a, b); }

void matmul_into(Tensor& out, const Tensor& a, const Tensor& b) {
    if (a.rank() < 2 || b.rank() < 2)
        throw ShapeError("matmul_into", "operands need two axes: lhs " + to_string(a.shape()) +
                                            " vs rhs " + to_string(b.shape()));
    const Shape shape = product_shape(a, b);
    if (!(out.shape() == shape) || out.dtype() != a.dtype())
        throw ShapeError("matmul_into", "out is " + to_string(out.dtype(), out.shape()) +
                                            ", the product " + to_string(a.dtype(), shape));
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
