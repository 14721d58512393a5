#include "autograd/optim/optimizer.h"

#include <algorithm>

#include "autograd/optim/check.h"
#include "autograd/optim/rewrite.h"
#include "autograd/optim/undivided.h"

namespace mercer {
namespace {

// Two threads would write the same element.
void check_apart(const char* name, std::span<Tensor* const> parameters) {
    struct Extent {
        const char *begin, *end;
        size_t index;
    };
    std::vector<Extent> extents;
    for (size_t i = 0; i < parameters.size(); ++i) {
        const Tensor& p = *parameters[i];
        const char* begin = static_cast<const char*>(p.raw());
        if (p.count() > 0)
            extents.push_back({begin, begin + p.count() * int64_t(size_of(p.dtype())), i});
    }
    std::sort(extents.begin(), extents.end(),
              [](const Extent& a, const Extent& b) { return a.begin < b.begin; });
    for (size_t k = 1; k < extents.size(); ++k)
        if (extents[k].begin < extents[k - 1].end)
            throw InPlaceError(name, "parameters ", extents[k - 1].index, " and ", extents[k].index,
                               " share memory; give a shared parameter once");
}

}  // namespace

std::vector<ParameterOptions> no_decay_for_vectors(std::span<Tensor* const> parameters) {
    check_given("no_decay_for_vectors", parameters);
    std::vector<ParameterOptions> each(parameters.size());
    for (size_t i = 0; i < each.size(); ++i)
        if (parameters[i]->rank() < 2) each[i].weight_decay = 0;
    return each;
}

Optimizer::Optimizer(const char* name, std::initializer_list<const char*> remembered, double lr,
                     double weight_decay, double initial)
    : name_(name),
      remembered_(remembered),
      lr_(lr),
      weight_decay_(weight_decay),
      initial_(initial) {
    check_not_negative(name, "lr", lr);
    check_not_negative(name, "weight_decay", weight_decay);
}

Optimizer::~Optimizer() = default;

void Optimizer::set_lr(double lr) {
    check_not_negative(name_, "lr", lr);
    lr_ = lr;
}

void Optimizer::configure(std::vector<ParameterOptions> each) {
    for (const ParameterOptions& p : each) {
        check_not_negative(name_, "lr_scale", p.lr_scale);
        if (p.weight_decay) check_not_negative(name_, "weight_decay", *p.weight_decay);
    }
    each_ = std::move(each);
}

void Optimizer::check(std::span<Tensor* const> parameters,
                      std::span<const Tensor> gradients) const {
    check_given(name_, parameters);
    const size_t n = parameters.size();
    if (n != gradients.size() || (!steps_.empty() && steps_.size() != n) ||
        (!each_.empty() && each_.size() != n))
        throw ShapeError(name_, n, " parameters, ", gradients.size(), " gradients, state for ",
                         steps_.size(), ", options for ", each_.size());
    const size_t kept = remembered_.size();
    for (size_t i = 0; i < n; ++i) {
        const Tensor &p = *parameters[i], &g = gradients[i];
        const auto say = [&](const std::string& what, const Tensor& t) {
            throw ShapeError(name_, "parameter ", i, " is ", p, ", ", what, " ", t);
        };
        if (!p.defined()) throw ShapeError(name_, "parameter ", i, " is not defined");
        if (!is_floating(p.dtype()))
            throw DTypeError(name_, "parameter ", i, " is ", p, "; cast it to f32 or f64");
        if (g.defined() && !alike(p, g)) say("its gradient", g);
        for (size_t k = 0; !steps_.empty() && k < kept; ++k)
            if (!alike(p, state_[i * kept + k]))
                say("its state '" + state_name(i, k) + "'", state_[i * kept + k]);
        if (!p.is_contiguous())
            throw InPlaceError(name_, "parameter ", i,
                               " is a strided view; optimise its contiguous()");
    }
    if (!checked_) check_apart(name_, parameters);
}

void Optimizer::begin(std::span<Tensor* const> parameters) {
    std::vector<Tensor> state;
    for (const Tensor* p : parameters)
        for (size_t k = 0; k < remembered_.size(); ++k)
            state.push_back(Tensor::full(p->shape(), initial_, p->dtype()));
    items_.reserve(parameters.size());
    steps_.assign(parameters.size(), 0);
    state_ = std::move(state);
}

void Optimizer::step(std::span<Tensor* const> parameters, std::span<const Tensor> gradients) {
    check(parameters, gradients);
    {
        const OperationScope scope(name_, gradients);
        const Undivided undivided;
        if (steps_.empty()) begin(parameters);
        checked_ = true;
        const size_t kept = remembered_.size();
        std::vector<Tensor> dense;  // row-major copies of gradients that are not
        for (const Tensor& g : gradients)
            if (g.defined() && !g.is_contiguous()) dense.push_back(g.contiguous());
        auto copy = dense.begin();
        items_.clear();
        Formula formula{};
        int64_t t = 0;
        ParameterOptions options, last;
        for (size_t i = 0; i < parameters.size(); ++i) {
            const Tensor& g = gradients[i];
            if (!g.defined()) continue;
            Tensor& p = *parameters[i];
            p.before_write();
            if (instruments::on()) [[unlikely]]
                instruments::made(p);
            if (!each_.empty()) options = each_[i];
            // Powers are slow beside small parameters: once for all that are alike.
            if (++steps_[i] != t || options.lr_scale != last.lr_scale ||
                options.weight_decay != last.weight_decay) {
                t = steps_[i];
                last = options;
                formula = this->formula(t, lr_ * options.lr_scale,
                                        options.weight_decay.value_or(weight_decay_));
            }
            cpu::UpdateItem& u = items_.emplace_back();
            u.p = p.raw();
            u.g = g.is_contiguous() ? g.raw() : (copy++)->raw();
            for (size_t k = 0; k < kept; ++k) u.state[k] = state_[i * kept + k].raw();
            u.n = p.count();
            u.rule = formula.rule;
            u.wide = p.dtype() == DType::f64;
            u.constants = formula.constants;
        }
        cpu::update(items_);
    }
    instruments::settle();
}

std::string Optimizer::state_name(size_t parameter, size_t k) const {
    return std::string(remembered_[k]) + "." + std::to_string(parameter);
}

NamedTensors Optimizer::state() const {
    NamedTensors state{{"lr", Tensor::scalar(lr_, DType::f64)}, {"step", Tensor::from(steps_)}};
    for (size_t i = 0; i < state_.size(); ++i)
        state.emplace(state_name(i / remembered_.size(), i % remembered_.size()),
                      state_[i].clone());
    return state;
}

void Optimizer::restore(const NamedTensors& state) {
    StateReader reader(name_, state);
    const double lr = reader.number("lr");
    check_not_negative(name_, "lr", lr);
    const std::vector<int64_t> steps = reader.tensor("step", DType::i64, 1).to_vector<int64_t>();
    for (const int64_t t : steps)
        check_option(name_, "'step' of the state", double(t), t >= 0 && t <= most_counted,
                     "a count up to 2^53");
    if (!steps_.empty() && !steps.empty() && steps.size() != steps_.size())
        throw ShapeError(name_, "'step' of the state counts ", steps.size(),
                         " parameters, expected ", steps_.size());
    const size_t kept = remembered_.size();
    std::vector<Tensor> tensors;
    for (size_t i = 0; i < steps.size(); ++i)
        for (size_t k = 0; k < kept; ++k)
            tensors.push_back(reader.tensor(state_name(i, k), !state_.empty() ? state_[i * kept + k]
                                                              : k > 0         ? tensors[i * kept]
                                                                              : Tensor()));
    reader.finish();
    lr_ = lr;
    steps_ = steps;
    state_ = std::move(tensors);
    checked_ = false;
}

}  // namespace mercer
