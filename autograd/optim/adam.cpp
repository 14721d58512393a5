#include "autograd/optim/adam.h"

#include "autograd/optim/check.h"

namespace mercer {
namespace {

constexpr auto names = {"m", "v"};

void check_betas(const char* name, double beta1, double beta2, double epsilon) {
    check_fraction(name, "beta1", beta1);
    check_fraction(name, "beta2", beta2);
    check_positive(name, "epsilon", epsilon);
}

template <class Options>
cpu::UpdateConstants constants(const Options& options, int64_t t, double lr) {
    cpu::UpdateConstants c;
    c.beta1 = options.beta1;
    c.beta2 = options.beta2;
    c.epsilon = options.epsilon;
    c.rate = lr / (1 - std::pow(options.beta1, double(t)));
    c.correction = 1 / std::sqrt(1 - std::pow(options.beta2, double(t)));
    return c;
}

}  // namespace

Adam::Adam(const AdamOptions& options)
    : Optimizer("adam", names, options.lr, options.weight_decay), options_(options) {
    check_betas("adam", options.beta1, options.beta2, options.epsilon);
}

Optimizer::Formula Adam::formula(int64_t t, double lr, double weight_decay) const {
    Formula f{cpu::UpdateRule::adam, constants(options_, t, lr)};
    f.constants.l2 = weight_decay;
    return f;
}

AdamW::AdamW(const AdamWOptions& options)
    : Optimizer("adamw", names, options.lr, options.weight_decay), options_(options) {
    check_betas("adamw", options.beta1, options.beta2, options.epsilon);
}

Optimizer::Formula AdamW::formula(int64_t t, double lr, double weight_decay) const {
    Formula f{cpu::UpdateRule::adam, constants(options_, t, lr)};
    f.constants.shrink = 1 - lr * weight_decay;
    return f;
}

RAdam::RAdam(const RAdamOptions& options)
    : Optimizer("radam", names, options.lr, options.weight_decay), options_(options) {
    check_betas("radam", options.beta1, options.beta2, options.epsilon);
    check_option("radam", "threshold", options.threshold, options.threshold >= 4,
                 "4 or more, where r is real");
}

Optimizer::Formula RAdam::formula(int64_t t, double lr, double weight_decay) const {
    const double b2 = std::pow(options_.beta2, double(t)), whole = 2 / (1 - options_.beta2) - 1,
                 part = whole - 2 * double(t) * b2 / (1 - b2);
    Formula f{cpu::UpdateRule::adam_unscaled, constants(options_, t, lr)};
    if (part > options_.threshold) {
        f.rule = cpu::UpdateRule::adam;
        f.constants.rate *= std::sqrt((part - 4) * (part - 2) * whole /
                                      ((whole - 4) * (whole - 2) * part) * (1 - b2));
        f.constants.correction = 1;
    }
    (options_.decoupled ? f.constants.shrink : f.constants.l2) =
        options_.decoupled ? 1 - lr * weight_decay : weight_decay;
    return f;
}

}  // namespace mercer
