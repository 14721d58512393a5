#include "autograd/optim/ema.h"

#include "autograd/optim/check.h"
#include "autograd/optim/rewrite.h"
#include "autograd/optim/undivided.h"

namespace mercer {
namespace {

constexpr const char* name = "ema";

std::vector<Tensor> values_of(std::span<Tensor* const> tensors) {
    std::vector<Tensor> values;
    for (const Tensor* t : tensors) values.push_back(*t);
    return values;
}

}  // namespace

Ema::Ema(const EmaOptions& options) : options_(options) {
    check_fraction(name, "decay", options.decay);
}

void Ema::check(std::span<Tensor* const> parameters) const {
    check_given(name, parameters);
    if (parameters.size() != averages_.size())
        throw ShapeError(name, parameters.size(), " parameters, averages of ", averages_.size());
    for (size_t i = 0; i < parameters.size(); ++i) {
        const Tensor &p = *parameters[i], &e = averages_[i];
        if (!p.defined()) throw ValueError(name, "a tensor is undefined");
        if (!alike(p, e))
            throw ShapeError(name, "parameter ", i, " is ", p, ", its average 'average.", i, "' ",
                             e);
    }
}

void Ema::update(std::span<Tensor* const> parameters) {
    if (!kept_.empty())
        throw InPlaceError(name, "the parameters hold the averages; swap_out first");
    check_given(name, parameters);
    std::vector<Tensor> averages = averages_;
    if (averages.empty())
        for (const Tensor* p : parameters) {
            check_floating(name, *p);
            averages.push_back(options_.bias_correction ? Tensor::zeros(p->shape(), p->dtype())
                                                        : p->clone());
        }
    else
        check(parameters);
    if (instruments::on())
        for (Tensor& e : averages) e = e.clone();  // the check for NaN throws afterwards
    combine(name, averages, values_of(parameters), cpu::UpdateRule::blend, 1 - options_.decay);
    averages_ = std::move(averages);
    ++step_;
}

std::vector<Tensor> Ema::values() const {
    if (averages_.empty()) throw ValueError(name, "no average before the first update");
    std::vector<Tensor> values;
    for (const Tensor& e : averages_) values.push_back(e.clone());
    if (options_.bias_correction)
        rewrite(name, values, cpu::UpdateRule::scale,
                1 / (1 - std::pow(options_.decay, double(step_))));
    return values;
}

void Ema::swap_in(std::span<Tensor* const> parameters) {
    if (!kept_.empty()) throw ValueError(name, "swapped in already; swap_out first");
    const std::vector<Tensor> averages = values();
    check(parameters);
    std::vector<Tensor> kept;
    for (Tensor* p : parameters) {
        p->before_write();  // or it throws, before anything is written
        kept.push_back(p->clone());
    }
    const Undivided undivided;
    kept_ = std::move(kept);
    for (size_t i = 0; i < averages.size(); ++i) averages[i].copy_to(*parameters[i]);
}

void Ema::swap_out(std::span<Tensor* const> parameters) {
    if (kept_.empty()) throw ValueError(name, "not swapped in; swap_in first");
    check(parameters);
    const Undivided undivided;
    for (size_t i = 0; i < kept_.size(); ++i) kept_[i].copy_to(*parameters[i]);
    kept_.clear();
}

NamedTensors Ema::state() const {
    NamedTensors state{{"step", Tensor::scalar(double(step_), DType::i64)}};
    for (size_t i = 0; i < averages_.size(); ++i)
        state.emplace("average." + std::to_string(i), averages_[i].clone());
    return state;
}

void Ema::restore(const NamedTensors& state) {
    if (!kept_.empty())
        throw InPlaceError(name, "the parameters hold the averages; swap_out first");
    StateReader reader(name, state);
    const int64_t step = reader.count("step");
    std::vector<Tensor> averages;
    for (size_t i = 0; i + 1 < state.size(); ++i) {
        averages.push_back(reader.tensor("average." + std::to_string(i),
                                         i < averages_.size() ? averages_[i] : Tensor()));
        check_floating(name, averages.back());
    }
    reader.finish();
    if ((step == 0) != averages.empty())
        throw ValueError(name, "'step' of the state is ", step, ", with ", averages.size(),
                         " averages");
    if (!averages_.empty() && !averages.empty() && averages.size() != averages_.size())
        throw ShapeError(name, "the state lacks 'average.", averages.size(), "'");
    step_ = step;
    averages_ = std::move(averages);
}

}  // namespace mercer
