#include "engine/ops/layout.h"

#include <algorithm>

#include "engine/cpu/caches.h"
#include "engine/cpu/copy.h"
#include "engine/cpu/layout.h"
#include "engine/error.h"
#include "engine/functions.h"
#include "engine/ops/reduce.h"
#include "engine/ops/require.h"
#include "engine/parallel.h"

namespace mercer {

Shape resolve_shape(const Shape& shape, int64_t n, const Shape& from) {
    Shape out = shape;
    int unknown = -1;
    int64_t known = 1;
    bool fits = true;
    for (int i = 0; i < shape.rank(); ++i) {
        if (shape[i] == -1 && unknown < 0)
            unknown = i;
        else
            fits = fits && shape[i] >= 0 && !__builtin_mul_overflow(known, shape[i], &known);
    }
    if (unknown >= 0 && known > 0 && n % known == 0) {
        out[unknown] = n / known;
        known *= out[unknown];
    }
    if (!fits || known != n || (unknown >= 0 && out[unknown] < 0))
        throw ShapeError("reshape", from, " has ", n, " elements and does not fit ", shape);
    require_shape("reshape", out);
    return out;
}

Tensor Reshape::forward(const Attrs& attrs, TensorRefs x) {
    const CalledAs called(OperationScope::current(name));
    const Shape shape = resolve_shape(attrs.shape, x[0].count(), x[0].shape());
    const Tensor source = x[0].contiguous();
    return source.view(shape, contiguous_strides(shape), source.offset());
}

Permute::Attrs permutation(std::span<const int> axes, int rank) {
    Permute::Attrs attrs{};
    attrs.rank = rank;
    unsigned seen = 0;
    for (size_t k = 0; k < axes.size() && k < size_t(Dims::max_rank); ++k) {
        attrs.axes[k] = normal_axis("permute", axes[k], rank);
        seen |= 1u << attrs.axes[k];
    }
    if (int(axes.size()) != rank || seen != (1u << rank) - 1u)
        throw ShapeError("permute", "needs each of the ", rank, " axes once");
    return attrs;
}

Permute::Attrs last_two_exchanged(int rank) {
    if (rank < 2) throw ShapeError("transpose", "needs rank 2 or more, got rank ", rank);
    Permute::Attrs attrs{};
    attrs.rank = rank;
    for (int k = 0; k < rank; ++k) attrs.axes[k] = k;
    std::swap(attrs.axes[rank - 1], attrs.axes[rank - 2]);
    return attrs;
}

Tensor Permute::forward(const Attrs& attrs, TensorRefs x) {
    Shape shape = x[0].shape();
    Strides strides = x[0].strides();
    for (int k = 0; k < attrs.rank; ++k) {
        shape[k] = x[0].shape()[attrs.axes[k]];
        strides[k] = x[0].strides()[attrs.axes[k]];
    }
    return x[0].view(shape, strides, x[0].offset());
}

Tensor BroadcastTo::forward(const Attrs& attrs, TensorRefs x) {
    require_shape(name, attrs.shape);
    return x[0].view(attrs.shape,
                     cpu::broadcast_strides(name, x[0].shape(), x[0].strides(), attrs.shape),
                     x[0].offset());
}

Tensor SumTo::forward(const Attrs& attrs, TensorRefs x) {
    const CalledAs called(OperationScope::current(name));
    const Tensor& g = x[0];
    cpu::broadcast_strides(name, attrs.shape, contiguous_strides(attrs.shape),
                           g.shape());  // checks that it fits
    const int lead = g.rank() - attrs.shape.rank();
    unsigned axes = 0;
    for (int i = 0; i < g.rank(); ++i)
        if (i < lead || (attrs.shape[i - lead] == 1 && g.shape()[i] != 1)) axes |= 1u << i;
    return reshape(compute<Sum>({axes, true}, x), attrs.shape);
}

void copy_with_borders(const Tensor& out, const Tensor& x, const Shape& before, PadMode mode,
                       const Tensor& border) {
    // The inside first; then, axis by axis, what is before and after it, from what is there. Among few elements a constant
    // goes everywhere before the inside: one copy instead of two for each axis.
    const bool constant = mode == PadMode::constant, filled = constant && out.count() <= 4096;
    const Strides strides = out.strides();
    if (filled)
        cpu::copy(out, border.view(out.shape(), Strides::filled(out.rank(), 0), border.offset()));
    Shape box = x.shape();
    int64_t begin = out.offset();
    for (int a = 0; a < out.rank(); ++a) begin += before[a] * strides[a];
    cpu::copy(out.view(box, strides, begin), x);
    if (filled) return;
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

Tensor Pad::forward(const Attrs& attrs, TensorRefs x) {
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

namespace {

/// target_k = source_k, parts of `out` along another axis than the first. That goes in blocks, each of which is in cache
/// while all parts of it are written, for they share cache lines.
void copy_near(const Tensor& out, std::span<const Tensor> targets, TensorRefs sources) {
    const int64_t rows = out.size(0), row = out.count() / rows * int64_t(size_of(out.dtype())),
                  block = std::clamp<int64_t>(cpu::caches().l2 / 2 / row, 1, rows);
    parallel_each((rows + block - 1) / block, 1, [&](int64_t i) {
        const Slice::Attrs some{0, i * block, 1, std::min(block, rows - i * block)};
        for (size_t k = 0; k < targets.size(); ++k)
            cpu::copy(Slice::forward(some, {&targets[k]}), Slice::forward(some, {&sources[k]}));
    });
}
void copy_all(const Tensor& out, std::span<const Tensor> targets, TensorRefs sources, bool near) {
    if (near && out.count() > 0) return copy_near(out, targets, sources);
    for (size_t k = 0; k < targets.size(); ++k) cpu::copy(targets[k], sources[k]);
}

}  // namespace

Slice::Attrs slice_range(const Shape& shape, int axis, int64_t begin, int64_t end, int64_t step) {
    axis = normal_axis("slice", axis, shape.rank());
    if (step == 0) throw ValueError("slice", "step must not be 0");
    const int64_t size = shape[axis];
    const int64_t low = step > 0 ? 0 : -1, high = step > 0 ? size : size - 1;
    begin = std::clamp(begin < 0 ? begin + size : begin, low, high);
    end = std::clamp(end < 0 ? end + size : end, low, high);
    const int64_t length = step > 0 ? end - begin : begin - end,
                  n = length > 0 ? 1 + (step > 0 ? length - 1 : 1 - length) / step : 0;
    return {axis, begin, n > 1 ? step : 1, n};
}

Unslice::Attrs unslice_range(const Shape& x, const Shape& shape, int axis, int64_t begin,
                             int64_t step) {
    axis = normal_axis("unslice", axis, shape.rank());
    const int64_t size = shape[axis], n = x.rank() == shape.rank() ? x[axis] : -1;
    Shape rest = x;
    if (n >= 0) rest[axis] = size;
    int64_t last = begin;
    const bool fits =
        rest == shape && (n < 2 || (step != 0 && !__builtin_mul_overflow(n - 1, step, &last) &&
                                    !__builtin_add_overflow(last, begin, &last)));
    if (!fits || (n > 0 && (begin < 0 || begin >= size || last < 0 || last >= size)))
        throw ShapeError("unslice", x, " at ", begin, " by ", step, " does not fit axis ", axis,
                         " of ", shape);
    return {shape, axis, begin, n > 1 ? step : 1};
}

Tensor Slice::forward(const Attrs& a, TensorRefs x) {
    Shape shape = x[0].shape();
    Strides strides = x[0].strides();
    const int64_t offset = x[0].offset() + (a.n > 0 ? a.begin * strides[a.axis] : 0);
    shape[a.axis] = a.n;
    strides[a.axis] *= a.step;
    return x[0].view(shape, strides, offset);
}

Tensor Unslice::forward(const Attrs& a, TensorRefs x) {
    const int64_t n = x[0].shape()[a.axis];
    const Tensor out = Tensor::empty(a.shape, x[0].dtype());
    if (a.step == 1) {
        Shape before = Shape::filled(a.shape.rank(), 0);
        before[a.axis] = n > 0 ? a.begin : 0;
        copy_with_borders(out, x[0], before, PadMode::constant, Tensor::scalar(0, x[0].dtype()));
        return out;
    }
    const Tensor to[] = {out, Slice::forward({a.axis, a.begin, a.step, n}, {&out})},
                 from[] = {broadcast_to(Tensor::scalar(0, out.dtype()), a.shape), x[0]};
    copy_all(out, to, {&from[0], &from[1]}, a.axis > 0);
    return out;
}

Tensor Concat::forward(const Attrs& a, TensorRefs x) {
    Shape shape = x[0].shape();
    shape[a.axis] = 0;
    for (const Tensor& t : x) {
        Shape other = t.shape();
        require_same_dtype(name, x[0], t);
        if (other.rank() == shape.rank()) other[a.axis] = shape[a.axis];
        if (!(other == shape))
            throw ShapeError(name, "parts differ beside axis ", a.axis, ": ", x[0], " vs ", t);
        shape[a.axis] += t.shape()[a.axis];
    }
    const Tensor out = Tensor::empty(shape, x[0].dtype());
    std::vector<Tensor> to;
    to.reserve(x.size());
    int64_t begin = 0, narrow = shape[a.axis];
    for (const Tensor& t : x) {
        const int64_t n = t.shape()[a.axis];
        to.push_back(Slice::forward({a.axis, begin, 1, n}, {&out}));
        begin += n, narrow = n > 0 ? std::min(narrow, n) : narrow;
    }
    const int64_t run = narrow * out.strides()[a.axis] * int64_t(size_of(out.dtype()));
    copy_all(out, to, x, a.axis > 0 && run < 256);
    return out;
}

Tensor concat(std::span<const Tensor> xs, int axis) {
    if (xs.empty()) throw ShapeError("concat", "needs at least one tensor");
    return compute<Concat>({normal_axis("concat", axis, xs[0].rank())},
                           TensorRefs(pointers_to(xs)));
}

}  // namespace mercer
