#include "engine/ops/segment.h"

#include <algorithm>

#include "engine/cpu/join_rows.h"
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

    Rows(const char* operation, const SegmentAttrs& attrs, std::span<const Tensor> in) {
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

Tensor reduced(const char* name, cpu::Reduction op, const SegmentAttrs& attrs,
               std::span<const Tensor> in) {
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

Tensor SegmentSum::forward(const Attrs& attrs, std::span<const Tensor> in) {
    return reduced(name, cpu::Reduction::sum, attrs, in);
}
Tensor SegmentMax::forward(const Attrs& attrs, std::span<const Tensor> in) {
    return reduced(name, cpu::Reduction::max, attrs, in);
}
Tensor SegmentMin::forward(const Attrs& attrs, std::span<const Tensor> in) {
    return reduced(name, cpu::Reduction::min, attrs, in);
}

Tensor SegmentSoftmax::forward(const Attrs& attrs, std::span<const Tensor> in) {
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
    const Tensor in[] = {y, offsets}, grad = g.contiguous();
    const Rows rows(name, {}, in);
    const Tensor out = Tensor::empty(y.shape(), y.dtype());
    if (out.count())
        cpu::segment_softmax(rows.list(), rows.x.raw(), grad.raw(), rows.width, out.dtype(),
                             out.raw());
    return out;
}

}  // namespace mercer
