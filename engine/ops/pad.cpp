#include "engine/ops/pad.h"

#include "engine/cpu/caches.h"
#include "engine/cpu/copy.h"
#include "engine/error.h"
#include "engine/operation.h"
#include "engine/ops/require.h"
#include "engine/parallel.h"

namespace mercer {

namespace {

/// A box within `out` that grows, axis by axis, by what is before and after it there.
struct Box {
    const Tensor& out;
    Shape shape;
    int64_t begin;
    const Tensor& border;  // of PadMode::constant

    /// By `before` elements and up to the axis' end, from what is there.
    void grow(int a, int64_t before, PadMode mode) {
        const Strides& strides = out.strides();
        const bool constant = mode == PadMode::constant;
        const int64_t n = shape[a], step = strides[a], after = out.size(a) - before - n;
        // [to, to + size) of the axis from source, source + by, …; 0 is where the box begins.
        const auto slab = [&](int64_t to, int64_t size, int64_t source, int64_t by) {
            Strides from = constant ? Strides::filled(out.rank(), 0) : strides;
            from[a] *= by;
            shape[a] = size;
            if (count(shape) == 0) return;
            const Tensor& of = constant ? border : out;
            cpu::copy(out.view(shape, strides, begin + to * step),
                      of.view(shape, from, constant ? border.offset() : begin + source * step));
        };
        if (mode == PadMode::circular) {
            for (int64_t done = 0, size; (size = std::min(n, before - done)) > 0; done += size)
                slab(-done - size, size, n - done - size, 1);
            for (int64_t done = 0, size; (size = std::min(n, after - done)) > 0; done += size)
                slab(n + done, size, done, 1);
        } else {
            const bool mirror = mode == PadMode::reflect;
            slab(-before, before, mirror ? before : 0, -mirror);
            slab(n, after, mirror ? n - 2 : n - 1, -mirror);
        }
        shape[a] = out.size(a);
        begin -= before * step;
    }
};

}  // namespace

void copy_with_borders(const Tensor& out, const Tensor& x, const Shape& before, PadMode mode,
                       const Tensor& border) {
    const int rank = out.rank(), last = rank - 1;
    const int64_t size = int64_t(size_of(out.dtype())), rows = rank > 0 ? x.size(0) : 1,
                  in_cache = cpu::caches().l2 / 2;
    if (rank > 1 && out.size(0) == rows && out.strides()[0] * size > 8 * in_cache) {
        const auto part = [&](const Tensor& t, int64_t i) {
            return t.view(t.shape().part(1, rank), t.strides().part(1, rank),
                          t.offset() + i * t.strides()[0]);
        };
        for (int64_t i = 0; i < rows; ++i)
            copy_with_borders(part(out, i), part(x, i), before.part(1, rank), mode, border);
        return;
    }
    const auto shares_lines = [&](int64_t n) { return n * size % 64 != 0; };
    int64_t block = rows;
    // Borders that share cache lines with the inside come block by block, while those are in cache.
    if (last > 0 && out.count() > 0 && rows > 0 && out.size(last) != x.size(last) &&
        (shares_lines(before[last]) || shares_lines(x.size(last)) || shares_lines(out.size(last))))
        block = std::clamp<int64_t>(in_cache / (out.strides()[0] * size), 1, rows);
    if ((rows + block - 1) / std::max<int64_t>(block, 1) < 4 * thread_count())
        block = rows;  // threads share it
    int64_t begin = out.offset();
    for (int a = 0; a < rank; ++a) begin += before[a] * out.strides()[a];
    // The inside first; then, axis by axis, what is before and after it; the first axis at last, which all blocks share.
    parallel_each(rows > 0 ? (rows + block - 1) / block : 1, 1, [&](int64_t i) {
        const int64_t first = i * block;
        Box box{out, x.shape(), begin, border};
        if (rank > 0)
            box.shape[0] = std::min(block, rows - first), box.begin += first * out.strides()[0];
        cpu::copy(
            out.view(box.shape, out.strides(), box.begin),
            x.view(box.shape, x.strides(), x.offset() + (rank > 0 ? first * x.strides()[0] : 0)));
        for (int a = 1; a < rank; ++a) box.grow(a, before[a], mode);
    });
    if (rank > 0) {
        Box box{out, joined({rows}, out.shape().part(1, rank)), begin, border};
        for (int a = 1; a < rank; ++a) box.begin -= before[a] * out.strides()[a];
        box.grow(0, before[0], mode);
    }
}

Tensor Pad::forward(const Attrs& attrs, std::span<const Tensor> x) {
    const OperationScope scope(name, x);
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
