// Adjoints over segments: what a segment's result gets goes to its rows.
#pragma once

#include <type_traits>

#include "engine/ops/reduce.h"
#include "engine/ops/segment.h"

namespace mercer {

/// Every row's segment.
template <class X>
Tensor ids_of(Vjp<X>& c, const SegmentAttrs& a) {
    return a.count >= 0 ? c.value(1) : segment_ids(c.value(1));
}

template <class X>
void SegmentSum::vjp(Vjp<X>& c, const Attrs& a) {
    const X g = c.g();
    const X share = a.mean ? g / X(segment_sizes(c.value(1), a, g.rank(), c.dtype())) : g;
    c.give(0, index_select(share, ids_of(c, a), 0));
}

/// Equal extrema share: g · [x = y] / #[x = y]; of a segment whose extremum is NaN, its NaNs.
template <class X>
void segment_extremum_vjp(Vjp<X>& c, const SegmentAttrs& a) {
    const Tensor ids = ids_of(c, a);
    const Tensor y = c.out_value(),
                 hit = attained(c.value(0), index_select(y, ids, 0), holds_nan(y));
    // Beyond 2²⁴ ones a float no longer counts.
    const DType counts = hit.size(0) >> 24 ? DType::f64 : c.dtype();
    const Tensor hits = cast(perform<SegmentSum>({a.count}, cast(hit, counts), c.value(1)), c.dtype());
    const X share = c.g() / X(maximum(hits, Tensor::scalar(1, c.dtype())));
    c.give(0, where(hit, index_select(share, ids, 0), X(Tensor::zeros({}, c.dtype()))));
}

MERCER_VJP(SegmentMax, segment_extremum_vjp(c, a))
MERCER_VJP(SegmentMin, segment_extremum_vjp(c, a))

template <class X>
void SegmentSoftmax::vjp(Vjp<X>& c, const Attrs& a) {
    if constexpr (std::is_same_v<X, Tensor>)
        if (a.count < 0) return c.give(0, backward(c.out(), c.g(), c.value(1)));
    const X dot = perform<SegmentSum>(a, c.g() * c.out(), c.value(1));
    c.give(0, c.out() * (c.g() - index_select(dot, ids_of(c, a), 0)));
}

// One by offsets and one by ids; what segments without rows give, whether sums become means, a parameter.
#define MERCER_SEGMENT(function, Op, nothing, mean, ...)                                                              \
    MERCER_VALUE function(const MERCER_VALUE& x, const Tensor& offsets __VA_OPT__(, ) __VA_ARGS__) {                  \
        const CalledAs called(#function);                                                                             \
        return perform<Op>({-1, nothing, mean}, x, offsets);                                                          \
    }                                                                                                                 \
    MERCER_VALUE unsorted_##function(const MERCER_VALUE& x, const Tensor& ids, int64_t n __VA_OPT__(, ) __VA_ARGS__) { \
        const CalledAs called("unsorted_" #function);                                                                 \
        return perform<Op>({n, nothing, mean}, x, row_ids("unsorted_" #function, x.shape(), ids, n));                 \
    }
MERCER_SEGMENT(segment_sum, SegmentSum, 0, false)
MERCER_SEGMENT(segment_mean, SegmentSum, 0, true)
MERCER_SEGMENT(segment_max, SegmentMax, empty, false, double empty)
MERCER_SEGMENT(segment_min, SegmentMin, empty, false, double empty)
MERCER_SEGMENT(segment_softmax, SegmentSoftmax, 0, false)
#undef MERCER_SEGMENT

}  // namespace mercer
