// gather and scatter_add are each other's adjoint; scatter's sources that a later one overwrote get nothing. The adjoint of a
// choice of rows adds their cotangents.
#pragma once

#include <type_traits>

#include "engine/functions.h"
#include "engine/ops/index.h"

namespace mercer {

MERCER_VJP(Gather, c.give(0, scatter_add(c.g(), c.value(1), a.axis, c.in_shape(0)[a.axis])))
MERCER_VJP(ScatterAdd, c.give(0, gather(c.g(), c.value(1), a.axis)))

template <class X>
void Scatter::vjp(Vjp<X>& c, const Attrs& a) {
    const Tensor index = c.value(1);
    const X zero(Tensor::zeros({}, c.dtype()));
    Shape shape = c.out_shape(0);
    shape[a.axis] = index.size(a.axis);
    if (c.wants(0)) c.give(0, scatter(c.g(), index, broadcast_to(zero, shape), a.axis));
    if (!c.wants(2)) return;
    // Each source writes its own number; who reads it back is still there.
    const Tensor number = reshape(Tensor::arange(count(shape), DType::f64), shape);
    const Tensor last = scatter(Tensor::zeros(c.out_shape(0), DType::f64), index, number, a.axis);
    c.give(2, where(equal(gather(last, index, a.axis), number), gather(c.g(), index, a.axis), zero));
}

template <class X>
void Embedding::vjp(Vjp<X>& c, const Attrs& attrs) {
    const Tensor ids = reshape(c.value(1), {c.value(1).count(), 1});
    const bool padded = attrs.padding >= 0 && attrs.padding < attrs.size;
    X rows = reshape(c.g(), {ids.count(), c.in_shape(0)[1]});
    if constexpr (!std::is_same_v<X, Tensor>)
        if (padded) rows = where(equal(ids, double(attrs.padding)), X(Tensor::zeros({}, c.dtype())), rows);
    X table = scatter_add(rows, ids, 0, attrs.size);
    if constexpr (std::is_same_v<X, Tensor>)  // once for all of them
        if (padded) slice(table, 0, attrs.padding, attrs.padding + 1).fill(0);
    c.give(0, table);
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
MERCER_VALUE embedding(const MERCER_VALUE& table, const Tensor& ids, int64_t padding) {
    const CalledAs called("embedding");
    return perform<Embedding>({table.size(0), padding}, table, ids);
}

}  // namespace mercer
