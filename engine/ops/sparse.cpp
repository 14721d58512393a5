#include "engine/ops/sparse.h"

#include "engine/cpu/segment.h"
#include "engine/error.h"
#include "engine/functions.h"
#include "engine/ops/require.h"
#include "engine/ops/segment.h"

namespace mercer {
namespace {

void require_matrices(const char* operation, const char* left, const Tensor& a, int rank,
                      const char* right, const Tensor& b) {
    require_floating_pair(operation, a, b, left, right);
    if (a.rank() != rank || b.rank() != 2)
        throw ShapeError(operation, left, " must have ", rank, " and ", right, " 2 axes, got ",
                         a.shape(), " and ", b.shape());
}

// What is given of a transpose: all of it, as long as the pattern says, or nothing.
void require_transpose(const char* operation, std::span<const Tensor> transpose, int64_t m,
                       int64_t entries) {
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

Tensor Spmm::forward(const Attrs&, std::span<const Tensor> in) {
    require_matrices(name, "values", in[0], 1, "dense", in[1]);
    const Tensor values = in[0].contiguous(), dense = in[1].contiguous();
    const Pattern a(name, in[2], in[3]);
    if (values.count() != a.list.entries)
        throw ShapeError(name, "values ", values.shape(), " and columns ", a.columns.shape(),
                         " must have the same size");
    require_transpose(name, in.subspan(4), dense.size(0), a.list.entries);
    const Tensor out = Tensor::empty({a.list.count, dense.size(1)}, dense.dtype());
    if (out.count() == 0 || !cpu::segment_product(a.list, values.raw(), dense.raw(), dense.size(0),
                                                  dense.size(1), out.dtype(), out.raw()))
        checked_ids(name, "columns", a.columns, dense.size(0));
    return out;
}

Tensor Sddmm::forward(const Attrs&, std::span<const Tensor> in) {
    require_matrices(name, "a", in[0], 2, "b", in[1]);
    const Tensor a = in[0].contiguous(), b = in[1].contiguous();
    const Pattern p(name, in[2], in[3]);
    if (a.size(1) != b.size(1) || a.size(0) != p.list.count)
        throw ShapeError(name, "a is ", a.shape(), ", b ", b.shape(),
                         "; they must have as many columns, and a a row for each of the ",
                         p.list.count, " rows of the pattern");
    require_transpose(name, in.subspan(4), b.size(0), p.list.entries);
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

SparsePattern with_transpose(const SparsePattern& p, int64_t m) {
    if (p.transposed_offsets.defined()) return p;
    const auto [offsets, rows, order] = csr_transpose(p.offsets, p.columns, m);
    return {p.offsets, p.columns, offsets, rows, order};
}

}  // namespace mercer
