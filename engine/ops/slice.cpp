#include "engine/ops/slice.h"

#include <algorithm>

#include "engine/cpu/caches.h"
#include "engine/cpu/copy.h"
#include "engine/error.h"
#include "engine/functions.h"
#include "engine/ops/pad.h"
#include "engine/ops/require.h"
#include "engine/parallel.h"

namespace mercer {
namespace {

/// target_k = source_k, parts of `out` along another axis than the first. That goes in blocks, each of which is in cache
/// while all parts of it are written, for they share cache lines.
void copy_near(const Tensor& out, std::span<const Tensor> targets,
               std::span<const Tensor> sources) {
    const int64_t rows = out.size(0), row = out.count() / rows * int64_t(size_of(out.dtype())),
                  block = std::clamp<int64_t>(cpu::caches().l2 / 2 / row, 1, rows);
    parallel_each((rows + block - 1) / block, 1, [&](int64_t i) {
        const Slice::Attrs some{0, i * block, 1, std::min(block, rows - i * block)};
        for (size_t k = 0; k < targets.size(); ++k)
            cpu::copy(Slice::forward(some, {&targets[k], 1}),
                      Slice::forward(some, {&sources[k], 1}));
    });
}
void copy_all(const Tensor& out, std::span<const Tensor> targets, std::span<const Tensor> sources,
              bool near) {
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

Tensor Slice::forward(const Attrs& a, std::span<const Tensor> x) {
    Shape shape = x[0].shape();
    Strides strides = x[0].strides();
    const int64_t offset = x[0].offset() + (a.n > 0 ? a.begin * strides[a.axis] : 0);
    shape[a.axis] = a.n;
    strides[a.axis] *= a.step;
    return x[0].view(shape, strides, offset);
}

Tensor Unslice::forward(const Attrs& a, std::span<const Tensor> x) {
    const int64_t n = x[0].shape()[a.axis];
    const Tensor out = Tensor::empty(a.shape, x[0].dtype());
    if (a.step == 1) {
        Shape before = Shape::filled(a.shape.rank(), 0);
        before[a.axis] = n > 0 ? a.begin : 0;
        copy_with_borders(out, x[0], before, PadMode::constant, Tensor::scalar(0, x[0].dtype()));
        return out;
    }
    const Tensor to[] = {out, Slice::forward({a.axis, a.begin, a.step, n}, {&out, 1})},
                 from[] = {broadcast_to(Tensor::scalar(0, out.dtype()), a.shape), x[0]};
    copy_all(out, to, from, a.axis > 0);
    return out;
}

Tensor Concat::forward(const Attrs& a, std::span<const Tensor> x) {
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
    int64_t begin = 0, narrow = shape[a.axis];
    for (const Tensor& t : x) {
        const int64_t n = t.shape()[a.axis];
        to.push_back(Slice::forward({a.axis, begin, 1, n}, {&out, 1}));
        begin += n, narrow = n > 0 ? std::min(narrow, n) : narrow;
    }
    const int64_t run = narrow * out.strides()[a.axis] * int64_t(size_of(out.dtype()));
    copy_all(out, to, x, a.axis > 0 && run < 256);
    return out;
}

Tensor concat(std::span<const Tensor> xs, int axis) {
    if (xs.empty()) throw ShapeError("concat", "needs at least one tensor");
    return compute<Concat>({normal_axis("concat", axis, xs[0].rank())}, xs);
}

}  // namespace mercer
