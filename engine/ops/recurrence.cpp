// h_t = a_t h_{t−1} + b_t.
#include "engine/error.h"
#include "engine/functions.h"
#include "engine/memory.h"
#include "engine/ops/scan_lines.h"

namespace mercer {
namespace {

void recur_side_by_side(const SideBySide& a, const SideBySide& b, bool reverse, Tensor& out) {
    const auto kernel = scan_table().recurrence_turned[a.element == 8];
    const bool stream = streams_columns(out, a.n);
    a.for_blocks([&](int64_t first, int64_t rows) {
        kernel({a.at(first, 0), b.at(first, 0), a.n, a.apart, b.apart, rows, reverse,
                static_cast<char*>(out.raw()) + first * a.n * a.element, a.n, stream});
    });
}

}  // namespace

Tensor LinearRecurrence::forward(const Attrs& attrs, std::span<const Tensor> x) {
    const OperationScope scope(name, x);
    require_floating_pair(name, x[0], x[1], "a", "b");
    if (!(x[0].shape() == x[1].shape()))
        throw ShapeError(name, "a " + to_string(x[0].shape()) + " and b " +
                                   to_string(x[1].shape()) + " must have one shape");
    Tensor out = Tensor::empty(x[1].shape(), x[1].dtype());
    if (out.count() == 0) return out;
    const Lines l(out.shape(), attrs.axis);
    const bool wide = out.dtype() == DType::f64, rows = l.inner == 1;
    if (rows && SideBySide::fit(x[0]) && SideBySide::fit(x[1])) {
        recur_side_by_side(SideBySide(x[0]), SideBySide(x[1]), attrs.reverse, out);
        return out;
    }
    const Tensor a = x[0].contiguous(), b = x[1].contiguous();
    const auto kernel =
        (rows ? scan_table().recurrence_rows : scan_table().recurrence_columns)[wide];
    const bool stream = streams_columns(out, rows ? l.n : l.inner);
    l.for_blocks(rows ? 16 : 256, 2, [&](int64_t first, int64_t count) {
        kernel({at(a, first), at(b, first), l.n, l.inner, l.inner, count, attrs.reverse,
                at(out, first), l.inner, stream});
    });
    return out;
}

Tensor linear_recurrence(const Tensor& a, const Tensor& b, int axis, bool reverse) {
    const Tensor x[] = {a, b};
    return compute<LinearRecurrence>({normal_axis("linear_recurrence", axis, b.rank()), reverse},
                                     x);
}

}  // namespace mercer
