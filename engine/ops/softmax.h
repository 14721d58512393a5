// Softmax along one axis: y = exp(x − max x) / Σ exp(x − max x).
#pragma once

#include "engine/ops/op.h"

namespace mercer {

struct MERCER_API Softmax : Reads<output_bit> {
    using Attrs = AxisAttrs;
    MERCER_OPERATION_MEMBERS("softmax", Tensor)
    /// y·(g − Σ g·y) in one pass: first order only, tested against the text of vjp.
    static Tensor backward(const Attrs&, const Tensor& y, const Tensor& g);
};

}  // namespace mercer
