#include "engine/ops/rows.h"

#include <utility>

namespace mercer {

Tensor as_rows(const Tensor& x, int axis) { return from_rows(x, axis).contiguous(); }

Tensor from_rows(const Tensor& rows, int axis) {
    const int last = rows.rank() - 1;
    if (axis == last) return rows;
    Shape shape = rows.shape();
    Strides strides = rows.strides();
    std::swap(shape[axis], shape[last]);
    std::swap(strides[axis], strides[last]);
    return rows.view(shape, strides, rows.offset()).contiguous();
}

}  // namespace mercer
