// h_t = a_t h_{t−1} + b_t.
#include "engine/error.h"
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
    const cpu::ScanSteps& steps = scan_table().recurrence[wide];
    if (l.inner == 1 && SideBySide::fit(x[0]) && SideBySide::fit(x[1])) {
        const SideBySide a(x[0]), b(x[1]);
        b.run(out, attrs.reverse, [&](cpu::ScanArgs args, int64_t row) {
            args.a = a.at(row, 0), args.a_inner = a.apart;
            steps.turned(args);
        });
        return out;
    }
    const Tensor a = x[0].contiguous(), b = x[1].contiguous();
    l.run(steps, b, out, attrs.reverse, 2, [&](cpu::ScanArgs& args, int64_t first) {
        args.a = at(a, first), args.a_inner = l.inner;
    });
    return out;
}

}  // namespace mercer
