#include "engine/ops/pad.h"

#include "engine/cpu/copy.h"
#include "engine/error.h"
#include "engine/ops/require.h"

namespace mercer {

void copy_with_borders(const Tensor& out, const Tensor& x, const Shape& before, PadMode mode,
                       const Tensor& border) {
    // The inside first; then, axis by axis, what is before and after it, from what is there.
    const bool constant = mode == PadMode::constant;
    const Strides strides = out.strides();
    Shape box = x.shape();
    int64_t begin = out.offset();
    for (int a = 0; a < out.rank(); ++a) begin += before[a] * strides[a];
    cpu::copy(out.view(box, strides, begin), x);
    for (int a = 0; a < out.rank(); ++a) {
        const int64_t n = box[a], step = strides[a], after = out.size(a) - before[a] - n;
        // [to, to + size) of the axis from source, source + by, …; 0 is where the inside begins.
        const auto slab = [&](int64_t to, int64_t size, int64_t source, int64_t by) {
            Strides from = constant ? Strides::filled(out.rank(), 0) : strides;
            from[a] *= by;
            box[a] = size;
            if (count(box) == 0) return;
            const Tensor& of = constant ? border : out;
            cpu::copy(out.view(box, strides, begin + to * step),
                      of.view(box, from, constant ? border.offset() : begin + source * step));
        };
        if (mode == PadMode::circular) {
            for (int64_t done = 0, size; (size = std::min(n, before[a] - done)) > 0; done += size)
                slab(-done - size, size, n - done - size, 1);
            for (int64_t done = 0, size; (size = std::min(n, after - done)) > 0; done += size)
                slab(n + done, size, done, 1);
        } else {
            const bool mirror = mode == PadMode::reflect;
            slab(-before[a], before[a], mirror ? before[a] : 0, -mirror);
            slab(n, after, mirror ? n - 2 : n - 1, -mirror);
        }
        box[a] = out.size(a);
        begin -= before[a] * step;
    }
}

Tensor Pad::forward(const Attrs& attrs, std::span<const Tensor> x) {
    const Tensor out = Tensor::empty(attrs.shape, x[0].dtype());
    copy_with_borders(
        out, x[0], attrs.before, attrs.mode,
        attrs.mode == PadMode::constant ? number_like(name, attrs.value, x[0].dtype()) : Tensor());
    return out;
}

Pad::Attrs pad_range(const Shape& x, std::span<const int64_t> before,
                     std::span<const int64_t> after, PadMode mode, double value) {
    if (int(before.size()) != x.rank() || int(after.size()) != x.rank())
        throw ShapeError("pad", "x is ", x, "; give a size before and after for each axis, got ",
                         before.size(), " and ", after.size());
    Pad::Attrs attrs{x, Shape(before), mode, value};
    for (int a = 0; a < x.rank(); ++a) {
        if (before[size_t(a)] < 0 || after[size_t(a)] < 0)
            throw ValueError("pad", "sizes must not be negative; use slice to cut");
        if (__builtin_add_overflow(attrs.shape[a], before[size_t(a)], &attrs.shape[a]) ||
            __builtin_add_overflow(attrs.shape[a], after[size_t(a)], &attrs.shape[a]))
            throw ShapeError("pad", "too many elements along axis ", a);
        const int64_t n = x[a], border = std::max(before[size_t(a)], after[size_t(a)]);
        if (border > 0 && mode == PadMode::reflect && border >= n)
            throw ValueError("pad", "a border of ", border, " cannot mirror an axis of size ", n);
        if (border > 0 && mode != PadMode::constant && n == 0)
            throw ValueError("pad", "an axis of size 0 has nothing to repeat");
    }
    return attrs;
}

}  // namespace mercer
