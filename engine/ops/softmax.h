// Softmax along one axis and its logarithm: y = exp(x − max x) / Σ exp(x − max x); y = (x − max x) − log Σ exp(x − max x).
#pragma once

#include "engine/ops/op.h"

namespace mercer {

template <bool logarithm>
struct MERCER_API SoftmaxOf : Reads<output_bit> {
    using Attrs = AxisAttrs;
    MERCER_OPERATION_MEMBERS(logarithm ? "log_softmax" : "softmax", Tensor)
    /// y·(g − Σ g·y), or g − exp(y)·Σ g, in one pass: first order only, tested against the text of vjp.
    static Tensor backward(const Attrs&, const Tensor& y, const Tensor& g);
};
using Softmax = SoftmaxOf<false>;
using LogSoftmax = SoftmaxOf<true>;
extern template struct SoftmaxOf<false>;
extern template struct SoftmaxOf<true>;

}  // namespace mercer
