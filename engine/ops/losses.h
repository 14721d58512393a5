// Losses: the formulas of those of elements; class ids of rows, and weights of their losses.
#pragma once

#include "engine/attribute.h"
#include "engine/ops/pointwise.h"

namespace mercer {

namespace loss {
#define MERCER_LOSS(name, ...) MERCER_API const PointwiseOp& name();
#include "engine/ops/losses.def"
#undef MERCER_LOSS
}  // namespace loss

/// `ids`, which must be i64 of the shape x without its last axis, as labels: −1 where `ignore`.
/// ValueError for another one outside [0, classes).
MERCER_API Tensor row_labels(const char* operation, const Shape& x, const Tensor& ids,
                             int64_t ignore);
MERCER_API int64_t labelled(const Tensor& labels);

/// Losses of rows (or elements) to one, `counted` of them in the mean.
template <class X>
X reduced_loss(const X& losses, LossReduction reduction, int64_t counted) {
    if (reduction == LossReduction::none) return losses;
    const X total = sum(losses);
    return reduction == LossReduction::sum ? total : total / double(counted);
}
/// Its adjoint: the weight of each loss, of `shape`.
template <class X>
X loss_weights(const X& g, LossReduction reduction, int64_t counted, const Shape& shape) {
    if (reduction == LossReduction::none) return g;
    return broadcast_to(reduction == LossReduction::sum ? g : g * (1.0 / double(counted)), shape);
}

}  // namespace mercer
