#include "engine/ops/softmax.h"

#include "engine/cpu/dispatch.h"
#include "engine/cpu/pointwise.h"
#include "engine/cpu/softmax_table.h"
#include "engine/error.h"
#include "engine/functions.h"
#include "engine/memory.h"
#include "engine/parallel.h"
#include "engine/scratch.h"

namespace mercer {

MERCER_DISPATCH(cpu::SoftmaxTable, softmax_table)

namespace {

// The axis at the end, row-major.
Tensor as_rows(const Tensor& x, int axis) {
    if (axis == x.rank() - 1) return x.contiguous();
    Shape shape = x.shape();
    Strides strides = x.strides();
    std::swap(shape[axis], shape[x.rank() - 1]);
    std::swap(strides[axis], strides[x.rank() - 1]);
    return x.view(shape, strides, x.offset()).contiguous();
}
Tensor from_rows(const Tensor& rows, int axis) {
    if (axis == rows.rank() - 1) return rows;
    Shape shape = rows.shape();
    Strides strides = rows.strides();
    std::swap(shape[axis], shape[rows.rank() - 1]);
    std::swap(strides[axis], strides[rows.rank() - 1]);
    return rows.view(shape, strides, rows.offset()).contiguous();
}

template <class Body>
void for_rows(const Tensor& x, Body body) {
    const int64_t n = x.shape().back(), rows = n ? x.count() / n : 0;
    parallel_for(rows, grain_for(n / 4 + 1), [&](int64_t begin, int64_t end) {
        body(begin * n * int64_t(size_of(x.dtype())), end - begin, n);
    });
}

/// Whether the rows of a new result go past the caches: aligned, and not so long that a spare one
/// would not stay in cache.
bool streams(const Tensor& out) {
    const int64_t element = int64_t(size_of(out.dtype())), row = out.shape().back() * element;
    return out.count() * element >= cpu::stream_from && row % 64 == 0 && row <= 1 << 18;
}

}  // namespace

Tensor Softmax::forward(const Attrs& attrs, std::span<const Tensor> x) {
    const OperationScope scope(name, x);
    if (!is_floating(x[0].dtype()))
        throw DTypeError(
            name, "works on f32 and f64, got " + std::string(name_of(x[0].dtype())) + "; use cast");
    const Tensor in = as_rows(x[0], attrs.axis);
    const Tensor out = Tensor::empty(in.shape(), in.dtype());
    const auto kernel = softmax_table().forward[in.dtype() == DType::f64];
    for_rows(in, [&](int64_t at, int64_t rows, int64_t n) {
        Scratch scratch;
        char* room = streams(out) ? scratch.take<char>(n * int64_t(size_of(out.dtype()))) : nullptr;
        kernel(static_cast<const char*>(in.raw()) + at, static_cast<char*>(out.raw()) + at, rows, n,
               room);
    });
    return from_rows(out, attrs.axis);
}

Tensor Softmax::backward(const Attrs& attrs, const Tensor& y, const Tensor& g) {
    const OperationScope scope(name, {&y, &g});
    const Tensor ys = as_rows(y, attrs.axis), gs = as_rows(g, attrs.axis);
    const Tensor out = Tensor::empty(ys.shape(), ys.dtype());
    const auto kernel = softmax_table().backward[ys.dtype() == DType::f64];
    for_rows(ys, [&](int64_t at, int64_t rows, int64_t n) {
        kernel(static_cast<const char*>(ys.raw()) + at, static_cast<const char*>(gs.raw()) + at,
               static_cast<char*>(out.raw()) + at, rows, n, streams(out));
    });
    return from_rows(out, attrs.axis);
}

Tensor softmax(const Tensor& x, int axis) {
    return compute<Softmax>({normal_axis("softmax", axis, x.rank())}, {&x, 1});
}

}  // namespace mercer
