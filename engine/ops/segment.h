// Reductions and softmax over segments of the first axis. Inputs: x (e, …) and `at`: offsets (n + 1), where segment s is the
// rows k with offsets[s] ≤ k < offsets[s + 1], or ids (e), where it is those with ids[k] = s.
#pragma once

#include "engine/ops/op.h"

namespace mercer {

struct SegmentAttrs {
    int64_t count = -1;  // of segments by ids, which were checked; -1: by offsets
    double empty = 0;    // the result of a segment without rows
    bool mean = false;   // sums are divided by the number of rows
};

MERCER_OPERATION_OF(SegmentAttrs, SegmentSum, "segment_sum", Tensor, input_bit(1))
MERCER_OPERATION_OF(SegmentAttrs, SegmentMax, "segment_max", Tensor,
                    input_bit(0) | input_bit(1) | output_bit)

MERCER_OPERATION_OF(SegmentAttrs, SegmentMin, "segment_min", Tensor,
                    input_bit(0) | input_bit(1) | output_bit)

struct MERCER_API SegmentSoftmax : Reads<input_bit(1) | output_bit> {
    using Attrs = SegmentAttrs;
    MERCER_OPERATION_MEMBERS("segment_softmax", Tensor)
    /// y·(g − Σ g·y) over each segment by offsets in one pass: first order only.
    static Tensor backward(const Tensor& y, const Tensor& g, const Tensor& offsets);
};

/// The segment of every row: i64 (e).
MERCER_API Tensor segment_ids(const Tensor& offsets);
/// How many rows each segment has, at least 1, as (n, 1, …) of `rank` axes; `at` as the operations take it.
MERCER_API Tensor segment_sizes(const Tensor& at, const SegmentAttrs& attrs, int rank, DType dtype);
/// {offsets, order} of a stable sort of ids, i64 of one axis and each in [0, n).
MERCER_API std::pair<Tensor, Tensor> segments_of(const char* operation, const char* what,
                                                 const Tensor& ids, int64_t n);

/// ids, dense; one for each row of x: ShapeError; each in [0, n): ValueError.
MERCER_API Tensor row_ids(const char* operation, const Shape& x, const Tensor& ids, int64_t n);

/// ids: i64 of one axis, dense.
MERCER_API Tensor list_of_ids(const char* operation, const char* what, const Tensor& ids);
/// The same, every one in [0, n).
MERCER_API Tensor checked_ids(const char* operation, const char* what, const Tensor& ids,
                              int64_t n);
/// offsets: i64 (n + 1), dense, ascending from 0 to `entries`.
MERCER_API Tensor checked_offsets(const char* operation, const Tensor& offsets, int64_t entries);

// Products with a sparse matrix A (n, m) in CSR: row i has values[k] at column columns[k], offsets[i] ≤ k < offsets[i + 1].
// spmm and sddmm are linear in both operands, and their derivatives are each other: with
// T(values, dense, y) = Σ y·(A·dense), they are ∂T/∂y and ∂T/∂values; ∂T/∂dense is spmm with Aᵀ.

/// A matrix's pattern; its transpose (csr_transpose), or undefined: then made when a derivative needs it.
struct CsrPattern {
    Tensor offsets, columns, transposed_offsets, transposed_rows, transposed_order;
};

/// values (e), dense (m, d), then the pattern; (n, d).
MERCER_OPERATION_ON(Bilinear<0b1111100u>, Spmm, "spmm", Tensor)

/// a (n, d), b (m, d), then the pattern; (e).
MERCER_OPERATION_ON(Bilinear<0b1111100u>, Sddmm, "sddmm", Tensor)

/// With the transpose filled in, for a matrix of m columns.
MERCER_API CsrPattern with_transpose(const CsrPattern& p, int64_t m);

}  // namespace mercer
