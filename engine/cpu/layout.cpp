#include "engine/cpu/layout.h"

#include "engine/error.h"

namespace mercer::cpu {

int64_t Walk::rows() const {
    int64_t n = 1;
    for (int i = 0; i + 1 < shape.rank(); ++i) n *= shape[i];
    return n;
}

void Walk::locate(int64_t row, int64_t* offsets) const {
    std::fill_n(offsets, operands, 0);
    for (int axis = shape.rank() - 2; axis >= 0 && row > 0; --axis) {
        const int64_t i = row % shape[axis];
        row /= shape[axis];
        for (int k = 0; k < operands; ++k) offsets[k] += i * strides[size_t(k)][axis];
    }
}

void Walk::exchange(int a, int b) {
    std::swap(shape[a], shape[b]);
    for (int k = 0; k < operands; ++k) std::swap(strides[size_t(k)][a], strides[size_t(k)][b]);
}

Walk plan_walk(const Shape& shape, std::span<const Strides> strides) {
    Walk walk;
    walk.operands = int(strides.size());
    const auto append = [&](int64_t size) {
        walk.shape.push_back(size);
        for (size_t k = 0; k < strides.size(); ++k) walk.strides[k].push_back(0);
    };
    for (int axis = 0; axis < shape.rank(); ++axis) {
        if (shape[axis] == 1) continue;
        const int last = walk.shape.rank() - 1;
        bool merge = last >= 0;
        for (size_t k = 0; merge && k < strides.size(); ++k)
            merge = walk.strides[k][last] == strides[k][axis] * shape[axis];
        if (merge)
            walk.shape[last] *= shape[axis];
        else
            append(shape[axis]);
        for (size_t k = 0; k < strides.size(); ++k)
            walk.strides[k][walk.shape.rank() - 1] = strides[k][axis];
    }
    if (walk.shape.rank() == 0) append(1);
    return walk;
}

Strides broadcast_strides(const char* operation, const Shape& from, const Strides& strides,
                          const Shape& to) {
    if (from == to) return strides;
    Strides out = Dims::filled(to.rank(), 0);
    const int lead = to.rank() - from.rank();
    bool fits = lead >= 0;
    for (int i = 0; fits && i < from.rank(); ++i) {
        fits = from[i] == to[lead + i] || from[i] == 1;
        out[lead + i] = from[i] == 1 ? 0 : strides[i];
    }
    if (!fits) throw ShapeError(operation, "shape ", from, " does not broadcast to ", to);
    return out;
}

Shape broadcast_shape(const char* operation, const Shape& a, const Shape& b) {
    const int rank = std::max(a.rank(), b.rank());
    Shape out = Dims::filled(rank, 1);
    for (int i = 0; i < rank; ++i) {
        const int ia = i - (rank - a.rank()), ib = i - (rank - b.rank());
        const int64_t sa = ia < 0 ? 1 : a[ia], sb = ib < 0 ? 1 : b[ib];
        if (sa != sb && sa != 1 && sb != 1)
            throw ShapeError(operation, "shapes do not broadcast: ", a, " with ", b,
                             "; sizes must be equal or 1 along each axis from the last");
        out[i] = sa == 1 ? sb : sa;
    }
    return out;
}

}  // namespace mercer::cpu
