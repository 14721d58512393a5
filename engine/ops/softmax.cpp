#include "engine/ops/softmax.h"

#include "engine/cpu/dispatch.h"
#include "engine/cpu/softmax_table.h"
#include "engine/functions.h"
#include "engine/memory.h"
#include "engine/ops/rows.h"

namespace mercer {

MERCER_DISPATCH(cpu::SoftmaxTable, softmax_table)

namespace {

/// Whether a gradient's rows go past the caches. Not the result's, which the derivative reads.
bool streams_rows(const Tensor& out) {
    return streams(out, 3) && out.shape().back() * int64_t(size_of(out.dtype())) % 64 == 0;
}

}  // namespace

Tensor Softmax::forward(const Attrs& attrs, std::span<const Tensor> x) {
    const OperationScope scope(name, x);
    require_floating(name, x[0]);
    const Tensor in = as_rows(x[0], attrs.axis);
    const Tensor out = Tensor::empty(in.shape(), in.dtype());
    const auto kernel = softmax_table().forward[in.dtype() == DType::f64];
    const int64_t n = in.shape().back();
    for_rows(rows_of(in), n, [&](int64_t r, int64_t rows) {
        kernel(at(in, r * n), at(out, r * n), rows, n);
    });
    return from_rows(out, attrs.axis);
}

Tensor Softmax::backward(const Attrs& attrs, const Tensor& y, const Tensor& g) {
    const OperationScope scope(name, {&y, &g});
    const Tensor ys = as_rows(y, attrs.axis), gs = as_rows(g, attrs.axis);
    const Tensor out = Tensor::empty(ys.shape(), ys.dtype());
    const auto kernel = softmax_table().backward[ys.dtype() == DType::f64];
    const int64_t n = ys.shape().back();
    for_rows(rows_of(ys), n, [&](int64_t r, int64_t rows) {
        kernel(at(ys, r * n), at(gs, r * n), at(out, r * n), rows, n, streams_rows(out));
    });
    return from_rows(out, attrs.axis);
}

Tensor softmax(const Tensor& x, int axis) {
    return compute<Softmax>({normal_axis("softmax", axis, x.rank())}, {&x, 1});
}

}  // namespace mercer
