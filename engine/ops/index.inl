// gather and scatter_add are each other's adjoint; scatter's sources that a later one overwrote get nothing.
#pragma once

#include "engine/ops/index.h"

namespace mercer {

MERCER_VJP(Gather, c.give(0, scatter_add(c.g(), c.value(1), a.axis, c.in_shape(0)[a.axis])))
MERCER_VJP(ScatterAdd, c.give(0, gather(c.g(), c.value(1), a.axis)))

template <class X>
void Scatter::vjp(Vjp<X>& c) {
    const int axis = c.template attrs<Attrs>().axis;
    const Tensor index = c.value(1);
    const X zero(Tensor::zeros({}, c.dtype()));
    Shape shape = c.out_shape(0);
    shape[axis] = index.size(axis);
    if (c.wants(0)) c.give(0, scatter(c.g(), index, broadcast_to(zero, shape), axis));
    if (!c.wants(2)) return;
    // Each source writes its own number; who reads it back is still there.
    const Tensor number = reshape(Tensor::arange(count(shape), DType::f64), shape);
    const Tensor last = scatter(Tensor::zeros(c.out_shape(0), DType::f64), index, number, axis);
    c.give(2, where(equal(gather(last, index, axis), number), gather(c.g(), index, axis), zero));
}

MERCER_VALUE gather(const MERCER_VALUE& x, const Tensor& index, int axis) {
    return perform<Gather>({normal_axis("gather", axis, x.rank())}, x, index);
}
MERCER_VALUE scatter(const MERCER_VALUE& x, const Tensor& index, const MERCER_VALUE& source, int axis) {
    return perform<Scatter>({normal_axis("scatter", axis, x.rank())}, x, index, source);
}
MERCER_VALUE scatter_add(const MERCER_VALUE& x, const Tensor& index, int axis, int64_t size) {
    return perform<ScatterAdd>({normal_axis("scatter_add", axis, x.rank()), size}, x, index);
}

}  // namespace mercer
