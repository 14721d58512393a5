#include "autograd/optim/adam.h"

#include <cmath>

#include "engine/cpu/optim_table.h"
#include "engine/error.h"
#include "engine/operation.h"

namespace mercer {

Adam::Adam(AdamOptions options) : options_(options) {
    const auto fraction = [](double b) { return b >= 0 && b < 1; };
    if (!(options.lr >= 0) || !fraction(options.beta1) || !fraction(options.beta2) ||
        !(options.epsilon > 0))
        throw ValueError("adam", "needs lr >= 0, betas in [0, 1) and epsilon > 0");
}

void Adam::step(std::span<Tensor* const> parameters, std::span<const Tensor> gradients) {
    if (parameters.size() != gradients.size() ||
        (!state_.m.empty() && state_.m.size() != parameters.size()))
        throw ShapeError("adam", std::to_string(parameters.size()) + " parameters, " +
                                     std::to_string(gradients.size()) + " gradients, state for " +
                                     std::to_string(state_.m.size()));
    if (state_.m.empty())
        for (const Tensor* p : parameters) {
            state_.m.push_back(Tensor::zeros(p->shape(), p->dtype()));
            state_.v.push_back(Tensor::zeros(p->shape(), p->dtype()));
        }
    for (size_t i = 0; i < parameters.size(); ++i) {
        const Tensor &p = *parameters[i], &g = gradients[i];
        if (!(p.shape() == g.shape()) || p.dtype() != g.dtype() ||
            !(p.shape() == state_.m[i].shape()) || p.dtype() != state_.m[i].dtype())
            throw ShapeError("adam", "parameter " + std::to_string(i) + " is " +
                                         std::string(name_of(p.dtype())) + to_string(p.shape()) +
                                         ", its gradient " + std::string(name_of(g.dtype())) +
                                         to_string(g.shape()) + ", its state " +
                                         to_string(state_.m[i].shape()));
        if (!p.is_contiguous())
            throw InPlaceError("adam", "parameter " + std::to_string(i) +
                                           " is a strided view; optimise its contiguous()");
    }
    const double t = double(++state_.step);
    const cpu::AdamConstants constants{options_.beta1, options_.beta2, options_.epsilon,
                                       options_.lr / (1 - std::pow(options_.beta1, t)),
                                       1 / std::sqrt(1 - std::pow(options_.beta2, t))};
    for (size_t i = 0; i < parameters.size(); ++i) {
        Tensor& p = *parameters[i];
        const OperationScope scope("adam", {&gradients[i]});
        p.before_write();
        if (instruments::on()) [[unlikely]]
            instruments::made(p);
        const Tensor g = gradients[i].contiguous();
        cpu::adam_step(p.dtype() == DType::f64, p.raw(), g.raw(), state_.m[i].raw(),
                       state_.v[i].raw(), p.count(), constants);
    }
    instruments::settle();
}

Adam::State Adam::state() const {
    State copy{state_.step, {}, {}};
    for (const Tensor& t : state_.m) copy.m.push_back(t.clone());
    for (const Tensor& t : state_.v) copy.v.push_back(t.clone());
    return copy;
}

void Adam::restore(const State& state) {
    state_ = State{state.step, {}, {}};
    for (const Tensor& t : state.m) state_.m.push_back(t.clone());
    for (const Tensor& t : state.v) state_.v.push_back(t.clone());
}

}  // namespace mercer
