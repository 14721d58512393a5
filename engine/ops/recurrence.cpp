// h_t = a_t h_{t−1} + b_t.
#include "engine/error.h"
#include "engine/functions.h"
#include "engine/ops/scan_lines.h"

namespace mercer {

Tensor LinearRecurrence::forward(const Attrs& attrs, std::span<const Tensor> x) {
    const OperationScope scope(name, x);
    require_floating_pair(name, x[0], x[1], "a", "b");
    if (!(x[0].shape() == x[1].shape()))
        throw ShapeError(name, "a ", x[0].shape(), " and b ", x[1].shape(), " must have one shape");
    Tensor out = Tensor::empty(x[1].shape(), x[1].dtype());
    if (out.count() == 0) return out;
    const bool wide = out.dtype() == DType::f64;
    const Lines l(out.shape(), attrs.axis, wide ? 8 : 16);  // a line of memory
    if (l.inner == 1 && SideBySide::fit(x[0]) && SideBySide::fit(x[1])) {
        const SideBySide a(x[0]), b(x[1]);
        const auto kernel = scan_table().recurrence_turned[wide];
        const bool stream = streams_columns(out, l.n);
        a.for_blocks([&](int64_t first, int64_t count) {
            kernel({a.at(first, 0), b.at(first, 0), l.n, a.apart, b.apart, count, attrs.reverse,
                    at(out, first * l.n), l.n, stream});
        });
        return out;
    }
    const Tensor a = x[0].contiguous(), b = x[1].contiguous();
    const auto kernel =
        (l.planes ? scan_table().recurrence_planes : scan_table().recurrence_columns)[wide];
    l.for_blocks(2, [&](int64_t first, int64_t count) {
        kernel({at(a, first), at(b, first), l.n, l.inner, l.inner, count, attrs.reverse,
                at(out, first), l.inner, l.stream(out)});
    });
    return out;
}

}  // namespace mercer
