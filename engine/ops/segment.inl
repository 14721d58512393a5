// Adjoints over segments: what a segment's result gets goes to its rows. Included by autograd/ops/graphs.cpp only.
#pragma once

#include <type_traits>

#include "engine/ops/reduce.h"
#include "engine/ops/segment.h"

namespace mercer {

/// Every row's segment.
template <class X>
Tensor ids_of(Vjp<X>& c) {
    const bool given = c.template attrs<SegmentAttrs>().count >= 0;
    return given ? c.value(1) : segment_ids(c.value(1));
}

template <class X>
void SegmentSum::vjp(Vjp<X>& c) {
    const SegmentAttrs& at = c.template attrs<SegmentAttrs>();
    const X g = c.g();
    const X share = at.mean ? g / X(segment_sizes(c.value(1), at, g.rank(), c.dtype())) : g;
    c.give(0, index_select(share, ids_of(c), 0));
}

/// Equal extrema share: g · [x = y] / #[x = y]; of a segment whose extremum is NaN, its NaNs.
template <class X>
void segment_extremum_vjp(Vjp<X>& c) {
    const SegmentAttrs at{c.template attrs<SegmentAttrs>().count};
    const Tensor ids = ids_of(c);
    const Tensor y = c.out_value(),
                 hit = attained(c.value(0), index_select(y, ids, 0), holds_nan(y));
    const Tensor hits = segmented<SegmentSum>(cast(hit, c.dtype()), c.value(1), at);
    const X share = c.g() / X(maximum(hits, Tensor::scalar(1, c.dtype())));
    c.give(0, where(hit, index_select(share, ids, 0), X(Tensor::zeros({}, c.dtype()))));
}

MERCER_SHARED_VJP(SegmentMax, segment_extremum_vjp(c))
MERCER_SHARED_VJP(SegmentMin, segment_extremum_vjp(c))

template <class X>
void SegmentSoftmax::vjp(Vjp<X>& c) {
    const SegmentAttrs at = c.template attrs<SegmentAttrs>();
    if constexpr (std::is_same_v<X, Tensor>)
        if (at.count < 0) return c.give(0, backward(c.out(), c.g(), c.value(1)));
    const X dot = segmented<SegmentSum>(c.g() * c.out(), c.value(1), at);
    c.give(0, c.out() * (c.g() - index_select(dot, ids_of(c), 0)));
}

}  // namespace mercer
