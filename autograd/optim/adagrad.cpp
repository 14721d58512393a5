#include "autograd/optim/adagrad.h"

#include "autograd/optim/check.h"

namespace mercer {

Adagrad::Adagrad(const AdagradOptions& options)
    : Optimizer("adagrad", {"G"}, options.lr, options.weight_decay, options.initial),
      options_(options) {
    check_positive("adagrad", "epsilon", options.epsilon);
    check_not_negative("adagrad", "initial", options.initial);
    check_not_negative("adagrad", "lr_decay", options.lr_decay);
}

Optimizer::Formula Adagrad::formula(int64_t t, double lr, double weight_decay) const {
    Formula f{cpu::UpdateRule::adagrad, {}};
    f.constants.rate = lr / (1 + double(t - 1) * options_.lr_decay);
    f.constants.epsilon = options_.epsilon;
    f.constants.l2 = weight_decay;
    return f;
}

}  // namespace mercer
