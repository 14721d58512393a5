// A pointwise kernel over what its operands broadcast to.
#pragma once

#include <array>
#include <initializer_list>

#include "engine/cpu/pointwise.h"

namespace mercer::cpu {

/// The result, of `dtype`, of a kernel; `cost` as in PointwiseKernels. ShapeError names `operation`.
inline Tensor run_broadcast(const char* operation, PointwiseFn kernel, int cost, DType dtype,
                            std::initializer_list<const Tensor*> in) {
    Shape shape = (*in.begin())->shape();
    for (const Tensor* t : in) {
        t->require_defined(operation);
        shape = broadcast_shape(operation, shape, t->shape());
    }
    std::array<Strides, Walk::max_operands> strides;
    size_t n = 0;
    for (const Tensor* t : in)
        strides[n++] = broadcast_strides(operation, t->shape(), t->strides(), shape);
    Tensor out = Tensor::empty(shape, dtype);
    run_pointwise(kernel, cost, shape, in, std::span(strides.data(), n), {&out, 1}, nullptr);
    return out;
}

}  // namespace mercer::cpu
