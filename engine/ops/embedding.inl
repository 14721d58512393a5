// The adjoint of a choice of rows adds their cotangents.
#pragma once

#include <type_traits>

#include "engine/functions.h"
#include "engine/ops/embedding.h"

namespace mercer {

template <class X>
void Embedding::vjp(Vjp<X>& c) {
    const Attrs& attrs = c.template attrs<Attrs>();
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

MERCER_VALUE embedding(const MERCER_VALUE& table, const Tensor& ids, int64_t padding) {
    const CalledAs called("embedding");
    return perform<Embedding>({table.size(0), padding}, table, ids);
}

}  // namespace mercer
