#include "autograd/optim/sgd.h"

#include "autograd/optim/check.h"

namespace mercer {
namespace {

std::initializer_list<const char*> remembered(double momentum) {
    static constexpr std::initializer_list<const char*> velocity = {"v"};
    return momentum == 0 ? std::initializer_list<const char*>{} : velocity;
}

}  // namespace

Sgd::Sgd(const SgdOptions& options)
    : Optimizer("sgd", remembered(options.momentum), options.lr, options.weight_decay),
      options_(options) {
    check_fraction("sgd", "momentum", options.momentum);
    check_option("sgd", "dampening", options.dampening,
                 options.dampening >= 0 && options.dampening <= 1, "0 to 1");
    check_option("sgd", "nesterov", options.nesterov,
                 !options.nesterov || (options.momentum > 0 && options.dampening == 0),
                 "momentum above 0 and no dampening");
}

Optimizer::Formula Sgd::formula(int64_t t, double lr, double weight_decay) const {
    Formula f{options_.momentum == 0 ? cpu::UpdateRule::sgd
              : options_.nesterov    ? cpu::UpdateRule::nesterov
                                     : cpu::UpdateRule::momentum,
              {}};
    f.constants.rate = lr;
    f.constants.beta1 = options_.momentum;
    f.constants.gain = t == 1 ? 1 : 1 - options_.dampening;
    f.constants.l2 = weight_decay;
    return f;
}

}  // namespace mercer
