// Reductions and softmax over segments of the first axis. Inputs: x (e, …), offsets (n + 1), order (e) or undefined:
// segment s is the rows order[k] (or k) with offsets[s] ≤ k < offsets[s + 1], in that order.
#pragma once

#include <span>
#include <string>

#include "engine/ops/op.h"
#include "engine/tensor.h"

namespace mercer {

struct SegmentAttrs {
    double empty;  // the result of a segment without rows
};

struct MERCER_API SegmentSum {
    static constexpr const char* name = "segment_sum";
    using Attrs = SegmentAttrs;
    static Tensor forward(const Attrs&, std::span<const Tensor> x);
    static constexpr unsigned needs(unsigned) { return input_bit(1) | input_bit(2); }
    template <class X>
    static void vjp(Vjp<X>& c);
};

struct MERCER_API SegmentMax {
    static constexpr const char* name = "segment_max";
    using Attrs = SegmentAttrs;
    static Tensor forward(const Attrs&, std::span<const Tensor> x);
    static constexpr unsigned needs(unsigned) {
        return input_bit(0) | input_bit(1) | input_bit(2) | output_bit;
    }
    template <class X>
    static void vjp(Vjp<X>& c);
};

struct MERCER_API SegmentMin {
    static constexpr const char* name = "segment_min";
    using Attrs = SegmentAttrs;
    static Tensor forward(const Attrs&, std::span<const Tensor> x);
    static constexpr unsigned needs(unsigned) { return SegmentMax::needs(0); }
    template <class X>
    static void vjp(Vjp<X>& c);
};

struct MERCER_API SegmentSoftmax {
    static constexpr const char* name = "segment_softmax";
    using Attrs = SegmentAttrs;
    static Tensor forward(const Attrs&, std::span<const Tensor> x);
    static constexpr unsigned needs(unsigned) { return input_bit(1) | input_bit(2) | output_bit; }
    template <class X>
    static void vjp(Vjp<X>& c);
    /// y·(g − Σ g·y) over each segment in one pass: first order only.
    static Tensor backward(const Tensor& y, const Tensor& g, const Tensor& offsets,
                           const Tensor& order);
};

/// Op on x, as functions and derivatives call it.
template <class Op>
Tensor segmented(const Tensor& x, const Tensor& offsets, const Tensor& order, double empty = 0) {
    const Tensor in[] = {x, offsets, order};
    return compute<Op>({empty}, in);
}

/// The segment of every row: i64 (e).
MERCER_API Tensor segment_ids(const Tensor& offsets, const Tensor& order);
/// How many rows each segment has, at least 1, as (n, 1, …) of `rank` axes.
MERCER_API Tensor segment_sizes(const Tensor& offsets, int rank, DType dtype);
/// The ids' rows are x's: ShapeError; a segment's number is in [0, n): ValueError; and {offsets, order} of a stable sort.
MERCER_API std::pair<Tensor, Tensor> segments_of(const char* operation, const Shape& x,
                                                 const Tensor& ids, int64_t n);

/// ids, checked as above, as an index (e, 1, …) for rows of x; how often each of [0, n) is there, at least 1: (n, 1, …).
MERCER_API Tensor row_index(const char* operation, const Shape& x, const Tensor& ids, int64_t n);
MERCER_API Tensor id_counts(const Tensor& index, int64_t n, DType dtype);

/// ids: i64 of one axis, dense, every one in [0, n).
Tensor checked_ids(const char* operation, const char* what, const Tensor& ids, int64_t n);
/// offsets: i64 (n + 1), dense, ascending from 0 to `entries`.
Tensor checked_offsets(const char* operation, const Tensor& offsets, int64_t entries);

}  // namespace mercer
