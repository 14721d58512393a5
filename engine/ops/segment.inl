// Adjoints over segments: what a segment's result gets goes to its rows.
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
    // Beyond 2²⁴ ones a float no longer counts.
    const DType counts = hit.size(0) >> 24 ? DType::f64 : c.dtype();
    const Tensor hits = cast(perform<SegmentSum>(at, cast(hit, counts), c.value(1)), c.dtype());
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
    const X dot = perform<SegmentSum>(at, c.g() * c.out(), c.value(1));
    c.give(0, c.out() * (c.g() - index_select(dot, ids_of(c), 0)));
}

MERCER_VALUE segment_sum(const MERCER_VALUE& x, const Tensor& offsets) { return perform<SegmentSum>({}, x, offsets); }
MERCER_VALUE segment_mean(const MERCER_VALUE& x, const Tensor& offsets) {
    const CalledAs called("segment_mean");
    return perform<SegmentSum>({.mean = true}, x, offsets);
}
MERCER_VALUE segment_max(const MERCER_VALUE& x, const Tensor& offsets, double empty) {
    return perform<SegmentMax>({.empty = empty}, x, offsets);
}
MERCER_VALUE segment_min(const MERCER_VALUE& x, const Tensor& offsets, double empty) {
    return perform<SegmentMin>({.empty = empty}, x, offsets);
}
MERCER_VALUE segment_softmax(const MERCER_VALUE& x, const Tensor& offsets) {
    return perform<SegmentSoftmax>({}, x, offsets);
}

MERCER_VALUE unsorted_segment_sum(const MERCER_VALUE& x, const Tensor& ids, int64_t n) {
    return perform<SegmentSum>({n}, x, row_ids("unsorted_segment_sum", x.shape(), ids, n));
}
MERCER_VALUE unsorted_segment_mean(const MERCER_VALUE& x, const Tensor& ids, int64_t n) {
    return perform<SegmentSum>({.count = n, .mean = true}, x, row_ids("unsorted_segment_mean", x.shape(), ids, n));
}
MERCER_VALUE unsorted_segment_max(const MERCER_VALUE& x, const Tensor& ids, int64_t n, double empty) {
    return perform<SegmentMax>({n, empty}, x, row_ids("unsorted_segment_max", x.shape(), ids, n));
}
MERCER_VALUE unsorted_segment_min(const MERCER_VALUE& x, const Tensor& ids, int64_t n, double empty) {
    return perform<SegmentMin>({n, empty}, x, row_ids("unsorted_segment_min", x.shape(), ids, n));
}
MERCER_VALUE unsorted_segment_softmax(const MERCER_VALUE& x, const Tensor& ids, int64_t n) {
    return perform<SegmentSoftmax>({n}, x, row_ids("unsorted_segment_softmax", x.shape(), ids, n));
}

}  // namespace mercer
