#include "engine/ops/reduce.h"

#include "engine/cpu/reduce.h"
#include "engine/error.h"
#include "engine/functions.h"
#include "engine/memory.h"

namespace mercer {
namespace {

// Brings the reduced axes together: (outer, n, inner) without a copy where they are neighbours
// already.
Tensor reduce(const char* name, cpu::Reduction op, const ReduceAttrs& attrs, const Tensor& x) {
    const OperationScope scope(name, {&x});
    if (!is_floating(x.dtype()))
        throw DTypeError(
            name, "works on f32 and f64, got " + std::string(name_of(x.dtype())) + "; use cast");
    Shape shape = kept_shape(x.shape(), attrs.axes);
    if (!attrs.keep)
        for (int i = x.rank() - 1; i >= 0; --i)
            if (attrs.axes & (1u << i)) shape.erase(i);
    int first = -1, last = -1;
    for (int i = 0; i < x.rank(); ++i)
        if (attrs.axes & (1u << i)) {
            if (first < 0) first = i;
            last = i;
        }
    if (first < 0) return x.clone();
    bool neighbours = true;
    for (int i = first; i <= last; ++i)
        neighbours = neighbours && ((attrs.axes & (1u << i)) || x.shape()[i] == 1);
    int64_t outer = 1, n = 1, inner = 1;
    Tensor source = x;
    if (neighbours) {
        for (int i = 0; i < x.rank(); ++i)
            (i < first ? outer : i <= last ? n : inner) *= x.shape()[i];
    } else {
        int axes[Dims::max_rank], k = 0;
        for (int i = 0; i < x.rank(); ++i)
            if (!(attrs.axes & (1u << i))) axes[k++] = i, outer *= x.shape()[i];
        for (int i = 0; i < x.rank(); ++i)
            if (attrs.axes & (1u << i)) axes[k++] = i, n *= x.shape()[i];
        source = permute(x, std::span<const int>(axes, size_t(k)));
    }
    if (n == 0 && op != cpu::Reduction::sum && outer * inner > 0)
        throw ValueError(name, "nothing to reduce over in " + to_string(x.shape()));
    return cpu::reduce(op, source.contiguous(), outer, n, inner, shape);
}

}  // namespace

ReduceAttrs reduce_axes(const char* operation, std::span<const int> axes, int rank, bool keep) {
    unsigned mask = 0;
    for (int axis : axes) {
        const unsigned bit = 1u << normal_axis(operation, axis, rank);
        if (mask & bit)
            throw ShapeError(operation, "axis " + std::to_string(axis) + " is named twice");
        mask |= bit;
    }
    return {mask, keep};
}
ReduceAttrs reduce_all(int rank) { return {(1u << rank) - 1u, false}; }

Shape kept_shape(const Shape& shape, unsigned axes) {
    Shape kept = shape;
    for (int i = 0; i < shape.rank(); ++i)
        if (axes & (1u << i)) kept[i] = 1;
    return kept;
}
int64_t reduced_count(const Shape& shape, unsigned axes) {
    int64_t n = 1;
    for (int i = 0; i < shape.rank(); ++i)
        if (axes & (1u << i)) n *= shape[i];
    return n;
}

Tensor Sum::forward(const Attrs& a, std::span<const Tensor> x) {
    return reduce(name, cpu::Reduction::sum, a, x[0]);
}
Tensor Mean::forward(const Attrs& a, std::span<const Tensor> x) {
    return reduce(name, cpu::Reduction::sum, a, x[0]) / double(reduced_count(x[0].shape(), a.axes));
}
Tensor Max::forward(const Attrs& a, std::span<const Tensor> x) {
    return reduce(name, cpu::Reduction::max, a, x[0]);
}
Tensor Min::forward(const Attrs& a, std::span<const Tensor> x) {
    return reduce(name, cpu::Reduction::min, a, x[0]);
}

}  // namespace mercer
