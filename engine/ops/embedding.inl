// The adjoint of a choice of rows adds their cotangents.
#pragma once

#include <type_traits>

#include "engine/functions.h"
#include "engine/ops/embedding.h"

namespace mercer {

template <class X>
void Embedding::vjp(Vjp<X>& c) {
    const Attrs& attrs = c.template attrs<Attrs>();
    const Tensor ids = c.value(1);
    if constexpr (std::is_same_v<X, Tensor>) {
        c.give(0, backward(attrs, ids, c.g()));
    } else {
        const Tensor column = reshape(ids, {ids.count(), 1}),
                     padded = equal(column, attrs.padding < attrs.size ? double(attrs.padding) : -1.0);
        const X rows = reshape(c.g(), {ids.count(), c.in_shape(0)[1]});
        const X kept = where(padded, X(Tensor::zeros({}, c.dtype())), rows);
        c.give(0, scatter_add(kept, column, 0, attrs.size));
    }
}

MERCER_VALUE embedding(const MERCER_VALUE& table, const Tensor& ids, int64_t padding) {
    const CalledAs called("embedding");
    return perform<Embedding>({table.size(0), padding}, table, ids);
}

}  // namespace mercer
