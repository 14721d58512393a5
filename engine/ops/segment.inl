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

// The derivatives of T(values, dense, y) = Σ y·(A·dense) by two of its three operands.

template <class X>
CsrPattern pattern_of(Vjp<X>& c) {
    const CsrPattern p{c.value(2), c.value(3), c.value(4), c.value(5), c.value(6)};
    return c.wants(1) ? with_transpose(p, c.in_shape(1)[0]) : p;
}

/// Aᵀ·y, with the values of A.
template <class X>
X transposed_product(const CsrPattern& p, const X& values, const X& y) {
    return spmm(p.transposed_offsets, p.transposed_rows, index_select(values, p.transposed_order),
                y);
}

template <class X>
void Spmm::vjp(Vjp<X>& c, const Attrs&) {
    const CsrPattern p = pattern_of(c);
    if (c.wants(0))
        c.give(0, sddmm(p.offsets, p.columns, c.g(), c.in(1), p.transposed_offsets,
                        p.transposed_rows, p.transposed_order));
    if (c.wants(1)) c.give(1, transposed_product(p, c.in(0), c.g()));
}

template <class X>
void Sddmm::vjp(Vjp<X>& c, const Attrs&) {
    const CsrPattern p = pattern_of(c);
    if (c.wants(0))
        c.give(0, spmm(p.offsets, p.columns, c.g(), c.in(1), p.transposed_offsets,
                       p.transposed_rows, p.transposed_order));
    if (c.wants(1)) c.give(1, transposed_product(p, c.g(), c.in(0)));
}

MERCER_VALUE spmm(const Tensor& offsets, const Tensor& columns, const MERCER_VALUE& values, const MERCER_VALUE& dense,
                  const Tensor& transposed_offsets, const Tensor& transposed_rows, const Tensor& transposed_order) {
    return perform<Spmm>({}, values, dense, offsets, columns, transposed_offsets, transposed_rows, transposed_order);
}
MERCER_VALUE sddmm(const Tensor& offsets, const Tensor& columns, const MERCER_VALUE& a, const MERCER_VALUE& b,
                   const Tensor& transposed_offsets, const Tensor& transposed_rows, const Tensor& transposed_order) {
    return perform<Sddmm>({}, a, b, offsets, columns, transposed_offsets, transposed_rows, transposed_order);
}

}  // namespace mercer
