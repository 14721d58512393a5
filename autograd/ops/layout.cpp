// Layout operations on Vars.
#include "engine/ops/layout.inl"
#include "autograd/functions.h"
#include "autograd/record.h"
#include "engine/ops/choice.inl"
#include "engine/ops/index.inl"
#include "engine/ops/pad.inl"
#include "engine/ops/slice.inl"

namespace mercer {

Var where(const Tensor& mask, const Var& a, const Var& b) {
    const Var m(mask);
    return record<Where>({}, {&m, &a, &b});
}
Var cast(const Var& x, DType dtype) {
    if (!is_floating(gradient_dtype(dtype))) return Var(cast(x.value(), dtype));  // steps
    return record<Cast>({x.dtype(), dtype}, {&x});
}

Var reshape(const Var& x, const Shape& shape) { return record<Reshape>({shape}, {&x}); }
Var permute(const Var& x, std::span<const int> axes) {
    return record<Permute>(permutation(axes, x.rank()), {&x});
}
Var transpose(const Var& x) { return record<Permute>(last_two_exchanged(x.rank()), {&x}); }
Var broadcast_to(const Var& x, const Shape& shape) {
    return x.shape() == shape ? x : record<BroadcastTo>({shape}, {&x});
}
Var sum_to(const Var& x, const Shape& shape) {
    return x.shape() == shape ? x : record<SumTo>({shape}, {&x});
}

Var slice(const Var& x, int axis, int64_t begin, int64_t end, int64_t step) {
    return record<Slice>(slice_range(x.shape(), axis, begin, end, step), {&x});
}
Var unslice(const Var& x, const Shape& shape, int axis, int64_t begin, int64_t step) {
    return record<Unslice>(unslice_range(x.shape(), shape, axis, begin, step), {&x});
}
Var concat(std::span<const Var> xs, int axis) {
    if (xs.empty()) throw ShapeError("concat", "needs at least one tensor");
    std::vector<const Var*> parts;
    for (const Var& x : xs) parts.push_back(&x);
    // The derivative asks for the size of every part, which a tape knows of what stands on it.
    std::vector<Var> placed(xs.begin(), xs.end());
    if (Tape* tape = Tape::of("concat", VarRefs(parts)))
        for (size_t i = 0; i < placed.size(); ++i)
            if (placed[i].is_constant()) parts[i] = &(placed[i] = tape->watch(placed[i].value()));
    return record<Concat>({normal_axis("concat", axis, xs[0].rank())}, VarRefs(parts));
}

Var gather(const Var& x, const Tensor& index, int axis) {
    const Var at(index);
    return record<Gather>({normal_axis("gather", axis, x.rank())}, {&x, &at});
}
Var scatter(const Var& x, const Tensor& index, const Var& source, int axis) {
    const Var at(index);
    return record<Scatter>({normal_axis("scatter", axis, x.rank())}, {&x, &at, &source});
}
Var padded(const Var& x, const Pad::Attrs& attrs) { return record<Pad>(attrs, {&x}); }
Var scatter_add(const Var& x, const Tensor& index, int axis, int64_t size) {
    const Var at(index);
    return record<ScatterAdd>({normal_axis("scatter_add", axis, x.rank()), size}, {&x, &at});
}

}  // namespace mercer
