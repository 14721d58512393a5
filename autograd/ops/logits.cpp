// log Σ exp and what stands on it, on Vars.
#include "engine/ops/logits.inl"
#include "autograd/functions.h"
#include "autograd/record.h"

namespace mercer {

Var logsumexp(const Var& x, std::span<const int> axes, bool keep) {
    return record<LogSumExp>(reduce_axes("logsumexp", axes, x.rank(), keep), {&x})[0];
}
Var log_softmax(const Var& x, int axis) {
    return record<LogSoftmax>({normal_axis("log_softmax", axis, x.rank())}, {&x});
}
Var cross_entropy(const Var& logits, const Tensor& ids, double smoothing, int64_t ignore,
                  LossReduction reduction) {
    const Var at(ids);
    return record<CrossEntropy>({smoothing, ignore, reduction}, {&logits, &at})[0];
}
Var nll_loss(const Var& log_p, const Tensor& ids, int64_t ignore, LossReduction reduction) {
    const Var at(ids);
    return record<NllLoss>({ignore, reduction}, {&log_p, &at});
}

}  // namespace mercer
