// What operations on rows share: an axis brought to the end, row-major, for kernels that see rows of
// n contiguous elements.
#pragma once

#include <array>
#include <tuple>
#include <utility>

#include "engine/cpu/caches.h"
#include "engine/ops/require.h"
#include "engine/parallel.h"

namespace mercer {

/// The axis exchanged with the last one.
inline Tensor exchanged(const Tensor& x, int axis) {
    Shape shape = x.shape();
    Strides strides = x.strides();
    std::swap(shape[axis], shape[x.rank() - 1]);
    std::swap(strides[axis], strides[x.rank() - 1]);
    return x.view(shape, strides, x.offset());
}
/// The same row-major, there and back.
inline Tensor as_rows(const Tensor& x, int axis) { return exchanged(x, axis).contiguous(); }

/// Whether a kernel that reads and writes so many tensors like x stores its results past the caches.
inline bool streams(const Tensor& x, int tensors) {
    return cpu::streams(tensors * x.count() * int64_t(size_of(x.dtype())));
}

/// body(first row, rows) over pieces of all rows, each of n elements.
template <class Body>
void for_rows(int64_t rows, int64_t n, Body body) {
    parallel_for(rows, grain_for(n / 4 + 1),
                 [&](int64_t begin, int64_t end) { body(begin, end - begin); });
}
inline int64_t rows_of(const Tensor& x) {
    return x.shape().back() ? x.count() / x.shape().back() : 0;
}

/// Of an operand that may be absent: its first element, its row-major form.
template <class T>
T* elements(const Tensor& t) {
    return t.defined() ? static_cast<T*>(t.raw()) : nullptr;
}
inline Tensor dense(const Tensor& t) { return t.defined() ? t.contiguous() : t; }
/// The same, or n times a number.
inline Tensor dense_or(const Tensor& t, double otherwise, int64_t n, DType dtype) {
    return t.defined() ? t.contiguous() : Tensor::full({n}, otherwise, dtype);
}

/// Element i of a row-major tensor.
inline char* at(const Tensor& x, int64_t i) {
    return static_cast<char*>(x.raw()) + i * int64_t(size_of(x.dtype()));
}

/// The result of kernel(rows of each x, its own rows, their number, n), all along `axis`.
template <class Kernel, class... X>
Tensor along_rows(int axis, Kernel kernel, const X&... x) {
    const std::array<Tensor, sizeof...(X)> in{as_rows(x, axis)...};
    const Tensor out = Tensor::empty(in[0].shape(), in[0].dtype());
    const int64_t n = out.shape().back();
    for_rows(rows_of(out), n, [&](int64_t r, int64_t rows) {
        std::apply([&](const auto&... t) { kernel(at(t, r * n)..., at(out, r * n), rows, n); }, in);
    });
    return as_rows(out, axis);
}

}  // namespace mercer
