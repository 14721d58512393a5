// Softmax along one axis and its logarithm: y = exp(x − max x) / Σ exp(x − max x); y = (x − max x) − log Σ exp(x − max x).
// What else stands on Σ exp: its logarithm, the cross entropy, and the loss of log probabilities.
#pragma once

#include "engine/attribute.h"
#include "engine/ops/reduce.h"

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

/// Results: log Σ exp x; of each row the largest x and Σ exp(x − largest).
struct MERCER_API LogSumExp
    : Reads<input_bit(0) | output_bit | output_bit_of(1) | output_bit_of(2)> {
    using Attrs = ReduceAttrs;
    MERCER_OPERATION_MEMBERS("logsumexp", Tensors<3>)
    /// g·exp(x − top)/sum: first order only.
    static Tensor backward(const Attrs&, const Tensor& x, const Tensor& top, const Tensor& sum,
                           const Tensor& g);
};

/// Inputs: logits […, classes], ids […] (i64). Results: the loss; of each row the largest logit and
/// Σ exp(x − largest).
struct MERCER_API CrossEntropy
    : Reads<input_bit(0) | input_bit(1) | output_bit_of(1) | output_bit_of(2)> {
    struct Attrs {
        double smoothing;
        int64_t ignore;
        LossReduction reduction;
    };
    MERCER_OPERATION_MEMBERS("cross_entropy", Tensors<3>)
    /// w·(softmax − target) by row, written once: first order only.
    static Tensor backward(const Attrs&, const Tensor& x, const Tensor& ids, const Tensor& top,
                           const Tensor& sum, const Tensor& g);
};

/// Inputs: log p […, classes], ids […] (i64).
MERCER_OPERATION(NllLoss, "nll_loss", Tensor, input_bit(1), int64_t ignore;
                 LossReduction reduction;)

}  // namespace mercer
