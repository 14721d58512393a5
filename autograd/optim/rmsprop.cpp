#include "autograd/optim/rmsprop.h"

#include "autograd/optim/check.h"

namespace mercer {
namespace {

std::initializer_list<const char*> remembered(const RmsPropOptions& options) {
    static constexpr std::initializer_list<const char*> plain = {"v"}, momentum = {"v", "b"},
                                                        centered = {"v", "a"},
                                                        both = {"v", "a", "b"};
    return options.centered        ? options.momentum == 0 ? centered : both
           : options.momentum == 0 ? plain
                                   : momentum;
}

}  // namespace

RmsProp::RmsProp(const RmsPropOptions& options)
    : Optimizer("rmsprop", remembered(options), options.lr, options.weight_decay),
      options_(options) {
    check_fraction("rmsprop", "alpha", options.alpha);
    check_positive("rmsprop", "epsilon", options.epsilon);
    check_fraction("rmsprop", "momentum", options.momentum);
}

Optimizer::Formula RmsProp::formula(int64_t, double lr, double weight_decay) const {
    using Rule = cpu::UpdateRule;
    constexpr Rule rules[2][2] = {{Rule::rmsprop, Rule::rmsprop_momentum},
                                  {Rule::rmsprop_centered, Rule::rmsprop_centered_momentum}};
    Formula f{rules[options_.centered][options_.momentum != 0], {}};
    f.constants.rate = lr;
    f.constants.beta1 = options_.momentum;
    f.constants.beta2 = options_.alpha;
    f.constants.epsilon = options_.epsilon;
    f.constants.l2 = weight_decay;
    return f;
}

}  // namespace mercer
