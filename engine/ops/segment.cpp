#include "engine/ops/segment.h"

#include <algorithm>

#include "engine/cpu/index.h"
#include "engine/cpu/segment.h"
#include "engine/error.h"
#include "engine/functions.h"
#include "engine/ops/require.h"

namespace mercer {
namespace {

// What every operation here sees: dense rows and their segments.
struct Rows {
    Tensor x, at;
    int64_t entries, count, width;

    Rows(const char* operation, const SegmentAttrs& attrs, TensorRefs in) {
        require_floating(operation, in[0]);
        if (in[0].rank() < 1) throw ShapeError(operation, "x needs an axis of rows, got rank 0");
        entries = in[0].size(0);
        x = in[0].contiguous();
        at = attrs.count < 0 ? checked_offsets(operation, in[1], entries) : in[1];
        count = attrs.count < 0 ? at.count() - 1 : attrs.count;
        width = mercer::count(x.shape().part(1, x.rank()));
    }
    cpu::SegmentList list() const { return {at.data<int64_t>(), nullptr, count, entries}; }
    cpu::Indexed by_id() const { return {1, entries, width, count, at.data<int64_t>(), true}; }
};

Tensor reduced(const char* name, cpu::Reduction op, const SegmentAttrs& attrs, TensorRefs in) {
    const Rows rows(name, attrs, in);
    const int rank = rows.x.rank();
    Tensor out = Tensor::empty(joined({rows.count}, rows.x.shape().part(1, rank)), rows.x.dtype());
    if (out.count() == 0) return out;
    if (attrs.count < 0) {
        cpu::segment_reduce(op, rows.list(), rows.x.raw(), rows.width, attrs.empty, out.dtype(),
                            out.raw(), attrs.mean);
        return out;
    }
    cpu::join_rows(op, rows.by_id(), attrs.empty, out.dtype(), rows.x.raw(), out.raw());
    if (!attrs.mean) return out;
    return std::move(out) / segment_sizes(rows.at, attrs, rank, rows.x.dtype());
}

}  // namespace

Tensor list_of_ids(const char* operation, const char* what, const Tensor& ids) {
    require_i64(operation, what, ids);
    if (ids.rank() != 1)
        throw ShapeError(operation, what, " must have one axis, got ", ids.shape());
    return ids.contiguous();
}

Tensor checked_ids(const char* operation, const char* what, const Tensor& ids, int64_t n) {
    const Tensor list = list_of_ids(operation, what, ids);
    const int64_t *const id = list.data<int64_t>(), k = cpu::first_outside(id, list.count(), n);
    if (k == list.count()) return list;
    throw ValueError(operation, what, "[", k, "] = ", id[k], " is outside [0, ", n, ")");
}

Tensor checked_offsets(const char* operation, const Tensor& offsets, int64_t entries) {
    const Tensor list = list_of_ids(operation, "offsets", offsets);
    const int64_t *at = list.data<int64_t>(), n = list.count();
    if (n < 1)
        throw ShapeError(operation,
                         "offsets must have one entry more than there are segments, got none");
    if (!cpu::ascending(at, n)) {
        const int64_t* const fall = std::is_sorted_until(at, at + n);
        throw ValueError(operation, "offsets must ascend, but offsets[", fall - at, "] = ", *fall,
                         " comes after ", fall[-1]);
    }
    if (at[0] != 0 || at[n - 1] != entries)
        throw ValueError(operation, "offsets must go from 0 to the number of rows, ", entries,
                         "; they go from ", at[0], " to ", at[n - 1]);
    return list;
}

Tensor row_ids(const char* operation, const Shape& x, const Tensor& ids, int64_t n) {
    if (n < 0) throw ValueError(operation, "the number of segments is ", n);
    const Tensor list = checked_ids(operation, "ids", ids, n);
    if (x.rank() < 1 || x[0] != list.count())
        throw ShapeError(operation, "ids ", ids.shape(), " must have one entry for each row of x ",
                         x);
    return list;
}

std::pair<Tensor, Tensor> segments_of(const char* operation, const char* what, const Tensor& ids,
                                      int64_t n) {
    if (n < 0)
        throw ValueError(operation, "the number of ", what, " is ", n, "; it must be 0 or more");
    const Tensor list = checked_ids(operation, what, ids, n);
    const Tensor offsets = Tensor::empty({std::min(n, INT64_MAX - 1) + 1}, DType::i64),
                 order = Tensor::empty({list.count()}, DType::i64);
    cpu::sort_ids(list.data<int64_t>(), list.count(), n, static_cast<int64_t*>(offsets.raw()),
                  static_cast<int64_t*>(order.raw()));
    return {offsets, order};
}

Tensor segment_ids(const Tensor& offsets) {
    const Tensor list = offsets.contiguous();
    const int64_t* at = list.data<int64_t>();
    const int64_t n = list.count() - 1;
    const Tensor out = Tensor::empty({at[n]}, DType::i64);
    int64_t* id = static_cast<int64_t*>(out.raw());
    for (int64_t s = 0; s < n; ++s) std::fill(id + at[s], id + at[s + 1], s);
    return out;
}

Tensor segment_sizes(const Tensor& at, const SegmentAttrs& attrs, int rank, DType dtype) {
    const Tensor list = at.contiguous();
    const int64_t n = attrs.count < 0 ? list.count() - 1 : attrs.count;
    const int64_t* const place = list.data<int64_t>();
    const Tensor counts = Tensor::empty(joined({n}, Shape::filled(rank - 1, 1)), DType::i64);
    int64_t* const to = static_cast<int64_t*>(counts.raw());
    if (attrs.count < 0)
        std::transform(place, place + n, place + 1, to, [](int64_t a, int64_t b) { return b - a; });
    else
        cpu::count_ids(place, list.count(), n, to);
    for (int64_t s = 0; s < n; ++s) to[s] = std::max(to[s], int64_t{1});
    return cast(counts, dtype);
}

Tensor SegmentSum::forward(const Attrs& attrs, TensorRefs in) {
    return reduced(name, cpu::Reduction::sum, attrs, in);
}
Tensor SegmentMax::forward(const Attrs& attrs, TensorRefs in) {
    return reduced(name, cpu::Reduction::max, attrs, in);
}
Tensor SegmentMin::forward(const Attrs& attrs, TensorRefs in) {
    return reduced(name, cpu::Reduction::min, attrs, in);
}

Tensor SegmentSoftmax::forward(const Attrs& attrs, TensorRefs in) {
    const Rows rows(name, attrs, in);
    const Tensor out = Tensor::empty(rows.x.shape(), rows.x.dtype());
    if (out.count() == 0) return out;
    if (attrs.count < 0)
        cpu::segment_softmax(rows.list(), rows.x.raw(), nullptr, rows.width, out.dtype(),
                             out.raw());
    else
        cpu::softmax_by_id(rows.by_id(), out.dtype(), rows.x.raw(), out.raw());
    return out;
}

Tensor SegmentSoftmax::backward(const Tensor& y, const Tensor& g, const Tensor& offsets) {
    const OperationScope scope(name, {&y, &g});
    const Tensor grad = g.contiguous();
    const Rows rows(name, {}, {&y, &offsets});
    const Tensor out = Tensor::empty(y.shape(), y.dtype());
    if (out.count())
        cpu::segment_softmax(rows.list(), rows.x.raw(), grad.raw(), rows.width, out.dtype(),
                             out.raw());
    return out;
}

// ---- products with sparse matrices --------------------------------------------------------------

namespace {

void require_matrices(const char* operation, const char* left, const Tensor& a, int rank,
                      const char* right, const Tensor& b) {
    require_floating_pair(operation, a, b, left, right);
    if (a.rank() != rank || b.rank() != 2)
        throw ShapeError(operation, left, " must have ", rank, " and ", right, " 2 axes, got ",
                         a.shape(), " and ", b.shape());
}

// What is given of a transpose: all of it, as long as the pattern says, or nothing.
void require_transpose(const char* operation, TensorRefs transpose, int64_t m, int64_t entries) {
    constexpr const char* names[] = {"transposed_offsets", "transposed_rows", "transposed_order"};
    const int64_t sizes[] = {m + 1, entries, entries};
    const bool given = transpose[0].defined() || transpose[1].defined() || transpose[2].defined();
    for (int i = 0; given && i < 3; ++i) {
        const Tensor& t = transpose[size_t(i)];
        if (!t.defined() || !(t.shape() == Shape{sizes[i]}))
            throw ShapeError(operation, names[i], " must have shape (", sizes[i], "), got ",
                             t.defined() ? to_string(t.shape()) : "none",
                             "; give all that csr_transpose returns, or none");
        require_i64(operation, names[i], t);
    }
}

/// A pattern whose columns are still to be looked at.
struct Pattern {
    Tensor offsets, columns;
    cpu::SegmentList list;

    Pattern(const char* operation, const Tensor& at, const Tensor& where)
        : offsets(checked_offsets(operation, at, where.count())),
          columns(list_of_ids(operation, "columns", where)),
          list{offsets.data<int64_t>(), columns.data<int64_t>(), offsets.count() - 1,
               columns.count()} {}
};

}  // namespace

Tensor Spmm::forward(const Attrs&, TensorRefs in) {
    require_matrices(name, "values", in[0], 1, "dense", in[1]);
    const Tensor values = in[0].contiguous(), dense = in[1].contiguous();
    const Pattern a(name, in[2], in[3]);
    if (values.count() != a.list.entries)
        throw ShapeError(name, "values ", values.shape(), " and columns ", a.columns.shape(),
                         " must have the same size");
    require_transpose(name, in.after(4), dense.size(0), a.list.entries);
    const Tensor out = Tensor::empty({a.list.count, dense.size(1)}, dense.dtype());
    if (out.count() == 0 || !cpu::segment_product(a.list, values.raw(), dense.raw(), dense.size(0),
                                                  dense.size(1), out.dtype(), out.raw()))
        checked_ids(name, "columns", a.columns, dense.size(0));
    return out;
}

Tensor Sddmm::forward(const Attrs&, TensorRefs in) {
    require_matrices(name, "a", in[0], 2, "b", in[1]);
    const Tensor a = in[0].contiguous(), b = in[1].contiguous();
    const Pattern p(name, in[2], in[3]);
    if (a.size(1) != b.size(1) || a.size(0) != p.list.count)
        throw ShapeError(name, "a is ", a.shape(), ", b ", b.shape(),
                         "; they must have as many columns, and a a row for each of the ",
                         p.list.count, " rows of the pattern");
    require_transpose(name, in.after(4), b.size(0), p.list.entries);
    const Tensor out = Tensor::empty({p.list.entries}, a.dtype());
    if (!cpu::segment_dots(p.list, a.raw(), b.raw(), b.size(0), a.size(1), out.dtype(), out.raw()))
        checked_ids(name, "columns", p.columns, b.size(0));
    return out;
}

std::array<Tensor, 3> coo_to_csr(const Tensor& rows, const Tensor& columns, int64_t n) {
    const OperationScope scope("coo_to_csr", {&rows, &columns});
    const Tensor across = checked_ids("coo_to_csr", "columns", columns, INT64_MAX);
    if (rows.count() != across.count())
        throw ShapeError("coo_to_csr", "rows ", rows.shape(), " and columns ", columns.shape(),
                         " must have the same size");
    const auto [offsets, order] = segments_of("coo_to_csr", "rows", rows, n);
    return {offsets, index_select(across, order), order};
}

std::array<Tensor, 3> csr_transpose(const Tensor& offsets, const Tensor& columns, int64_t m) {
    const OperationScope scope("csr_transpose", {&offsets, &columns});
    const Pattern a("csr_transpose", offsets, columns);
    const auto [starts, order] = segments_of("csr_transpose", "columns", a.columns, m);
    return {starts, index_select(segment_ids(a.offsets), order), order};
}

CsrPattern with_transpose(const CsrPattern& p, int64_t m) {
    if (p.transposed_offsets.defined()) return p;
    const auto [offsets, rows, order] = csr_transpose(p.offsets, p.columns, m);
    return {p.offsets, p.columns, offsets, rows, order};
}

}  // namespace mercer
