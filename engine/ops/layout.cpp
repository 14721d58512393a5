#include "engine/ops/layout.h"

#include "engine/cpu/layout.h"
#include "engine/error.h"
#include "engine/functions.h"
#include "engine/ops/reduce.h"

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

Tensor Reshape::forward(const Attrs& attrs, std::span<const Tensor> x) {
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

Tensor Permute::forward(const Attrs& attrs, std::span<const Tensor> x) {
    Shape shape = x[0].shape();
    Strides strides = x[0].strides();
    for (int k = 0; k < attrs.rank; ++k) {
        shape[k] = x[0].shape()[attrs.axes[k]];
        strides[k] = x[0].strides()[attrs.axes[k]];
    }
    return x[0].view(shape, strides, x[0].offset());
}

Tensor BroadcastTo::forward(const Attrs& attrs, std::span<const Tensor> x) {
    require_shape(name, attrs.shape);
    return x[0].view(attrs.shape,
                     cpu::broadcast_strides(name, x[0].shape(), x[0].strides(), attrs.shape),
                     x[0].offset());
}

Tensor SumTo::forward(const Attrs& attrs, std::span<const Tensor> x) {
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

}  // namespace mercer
