#include "engine/ops/pad.h"

#include "engine/cpu/copy.h"
#include "engine/error.h"
#include "engine/operation.h"
#include "engine/ops/require.h"

namespace mercer {

Tensor Pad::forward(const Attrs& attrs, std::span<const Tensor> x) {
    const OperationScope scope(name, x);
    const Tensor out = Tensor::empty(attrs.shape, x[0].dtype());
    cpu::copy_into_box(out, x[0], attrs.before, number_like(name, attrs.value, x[0].dtype()));
    return out;
}

Pad::Attrs pad_range(const Shape& x, std::span<const int64_t> before,
                     std::span<const int64_t> after, double value) {
    if (int(before.size()) != x.rank() || int(after.size()) != x.rank())
        throw ShapeError(
            "pad", "x is " + to_string(x) + "; give a size before and after for each axis, got " +
                       std::to_string(before.size()) + " and " + std::to_string(after.size()));
    Pad::Attrs attrs{x, Shape(before), value};
    for (int a = 0; a < x.rank(); ++a) {
        if (before[size_t(a)] < 0 || after[size_t(a)] < 0)
            throw ValueError("pad", "sizes must not be negative; use slice to cut");
        if (__builtin_add_overflow(attrs.shape[a], before[size_t(a)], &attrs.shape[a]) ||
            __builtin_add_overflow(attrs.shape[a], after[size_t(a)], &attrs.shape[a]))
            throw ShapeError("pad", "too many elements along axis " + std::to_string(a));
    }
    return attrs;
}

Tensor border_index(int64_t n, int64_t before, int64_t after, PadMode mode) {
    if (mode == PadMode::reflect && std::max(before, after) >= n)
        throw ValueError("pad", "a border of " + std::to_string(std::max(before, after)) +
                                    " cannot mirror an axis of size " + std::to_string(n));
    if (mode != PadMode::reflect && n == 0 && before + after > 0)
        throw ValueError("pad", "an axis of size 0 has nothing to repeat");
    Tensor index = Tensor::empty({n + before + after}, DType::i64);
    int64_t* out = index.mutable_data<int64_t>();
    for (int64_t i = -before; i < n + after; ++i) {
        int64_t from = i;
        if (mode == PadMode::edge) from = std::min(std::max(i, int64_t{0}), n - 1);
        if (mode == PadMode::reflect) from = i < 0 ? -i : i >= n ? 2 * n - 2 - i : i;
        if (mode == PadMode::circular) from = ((i % n) + n) % n;
        out[i + before] = from;
    }
    return index;
}

Tensor padded(const Tensor& x, const Pad::Attrs& attrs) { return compute<Pad>(attrs, {&x, 1}); }

}  // namespace mercer
