#include "autograd/optim/lbfgs.h"

#include "autograd/optim/check.h"
#include "autograd/optim/clip.h"
#include "autograd/optim/line_search.h"
#include "autograd/optim/rewrite.h"
#include "engine/cancel.h"
#include "engine/functions.h"

namespace mercer {
namespace {

constexpr const char* name = "lbfgs";

double dot(const Tensor& a, const Tensor& b) {
    cpu::DotItem item{a.raw(), b.raw(), a.count(), a.dtype() == DType::f64};
    return cpu::dot({&item, 1});
}

double norm(const Tensor& x) { return global_norm({&x, 1}); }  // squares may leave the range

double largest(const Tensor& x) { return x.count() ? max(abs(x)).item<double>() : 0; }

/// All of them as one vector; `like`, where given, says what each must look like.
Tensor flat(std::span<const Tensor> tensors, std::span<Tensor* const> like) {
    if (tensors.size() != like.size())
        throw ShapeError(name, like.size(), " parameters, ", tensors.size(), " gradients");
    std::vector<Tensor> parts;
    for (size_t i = 0; i < tensors.size(); ++i) {
        const Tensor &t = tensors[i], &p = *like[i];
        check_floating(name, p);
        if (p.dtype() != like[0]->dtype())
            throw DTypeError(name, "parameter ", i, " is ", p, ", the first is ", *like[0],
                             "; cast them alike");
        if (t.defined() && !alike(t, p))
            throw ShapeError(name, "parameter ", i, " is ", p, ", its gradient ", t);
        parts.push_back(t.defined() ? reshape(t, {t.count()})
                                    : Tensor::zeros({p.count()}, p.dtype()));
    }
    // A single part would share the memory of the parameter, which changes.
    return parts.size() == 1 ? parts[0].clone() : concat(parts, 0);
}

void write(const Tensor& x, std::span<Tensor* const> parameters) {
    const CancelScope heedless{std::stop_token()};  // else they would be left halfway
    int64_t at = 0;
    for (Tensor* p : parameters) {
        x.view(p->shape(), contiguous_strides(p->shape()), x.offset() + at).copy_to(*p);
        at += p->count();
    }
}

}  // namespace

Lbfgs::Lbfgs(const LbfgsOptions& options) : options_(options) {
    check_positive(name, "lr", options.lr);
    check_at_least(name, "iterations", options.iterations, 1);
    check_at_least(name, "history", options.history, 1);
    check_at_least(name, "trials", options.trials, 1);
    check_not_negative(name, "gradient_tolerance", options.gradient_tolerance);
    check_not_negative(name, "change_tolerance", options.change_tolerance);
    check_option(name, "armijo", options.armijo,
                 options.armijo > 0 && options.armijo < options.curvature,
                 "more than 0, below curvature");
    check_option(name, "curvature", options.curvature, options.curvature < 1, "below 1");
}

// Algorithm 7.4: −H·g by going down the pairs and up again.
Tensor Lbfgs::direction(const Tensor& gradient) const {
    Tensor q = -gradient;
    std::vector<double> share(history_.size());
    for (size_t i = history_.size(); i-- > 0;) {
        const Pair& k = history_[i];
        share[i] = dot(k.s, q) / k.product;
        q = q - k.y * share[i];
    }
    if (!history_.empty()) {
        const Pair& last = history_.back();
        const double size = norm(last.y);
        q = q * (last.product / size / size);
    }
    for (size_t i = 0; i < history_.size(); ++i) {
        const Pair& k = history_[i];
        q = q + k.s * (share[i] - dot(k.y, q) / k.product);
    }
    return q;
}

void Lbfgs::remember(const Tensor& s, const Tensor& y) {
    const double product = dot(s, y);
    // The strong Wolfe conditions make it positive; a search that ended early need not have.
    if (!(product > 1e-10 * norm(s) * norm(y))) return;
    if (int64_t(history_.size()) == options_.history) history_.pop_front();
    history_.push_back({s, y, product});
}

Lbfgs::Result Lbfgs::step(std::span<Tensor* const> parameters,
                          const std::function<LossAndGradients()>& evaluate) {
    if (parameters.empty()) throw ShapeError(name, "no parameters; give one or more");
    check_given(name, parameters);
    std::vector<Tensor> values;
    for (const Tensor* p : parameters) values.push_back(*p);
    Tensor x = flat(values, parameters);
    values.clear();
    if (!history_.empty() && !alike(history_[0].s, x))
        throw ShapeError(name, "the parameters are ", x, " in all, the history 's.0' ",
                         history_[0].s);
    Result result{0, 0, 0, 0, Outcome::iterations};
    const auto here = [&] {
        ++result.evaluations;
        const LossAndGradients now = evaluate();
        return LinePoint{0, now.loss, 0, flat(now.gradients, parameters)};
    };
    LinePoint now = here();
    result.gradient = largest(now.gradient);
    if (!std::isfinite(now.f) || !std::isfinite(result.gradient))
        throw NumericalError(name, "the loss is ", now.f, ", the largest gradient ",
                             result.gradient, "; start from parameters where both are finite");
    if (result.gradient <= options_.gradient_tolerance) result.outcome = Outcome::converged;
    while (result.outcome == Outcome::iterations && result.iterations < options_.iterations) {
        Tensor d = direction(now.gradient);
        now.a = 0;
        now.slope = dot(now.gradient, d);
        double first = options_.lr;
        if (history_.empty() || !(now.slope < 0)) {  // or rounding spoiled the curvature
            history_.clear();
            const double total = sum(abs(now.gradient)).item<double>(), unit = unit_of(total);
            d = now.gradient / -unit;
            now.slope = dot(now.gradient, d);
            first *= std::min(1.0, std::max(1.0, largest(x) / 1024) / total) * unit;
        }
        std::optional<LinePoint> next;
        Tensor moved = x;
        try {
            next = line_search(
                [&](double a) {
                    write(x + d * a, parameters);
                    LinePoint p = here();
                    p.a = a;
                    p.slope = dot(p.gradient, d);
                    return p;
                },
                now, first, {options_.armijo, options_.curvature, options_.trials});
            if (next) moved = x + d * next->a;
        } catch (...) {
            write(x, parameters);
            throw;
        }
        write(moved, parameters);
        if (!next) {
            if (history_.empty()) result.outcome = Outcome::no_descent;
            history_.clear();
            continue;
        }
        ++result.iterations;
        remember(moved - x, next->gradient - now.gradient);
        const double change = std::abs(next->f - now.f),
                     size = std::max(std::abs(next->f), std::abs(now.f));
        x = moved;
        now = std::move(*next);
        result.gradient = largest(now.gradient);
        if (result.gradient <= options_.gradient_tolerance)
            result.outcome = Outcome::converged;
        else if (change <= options_.change_tolerance * size)
            result.outcome = Outcome::stalled;
    }
    result.loss = now.f;
    return result;
}

NamedTensors Lbfgs::state() const {
    NamedTensors state;
    for (size_t i = 0; i < history_.size(); ++i) {
        state.emplace("s." + std::to_string(i), history_[i].s.clone());
        state.emplace("y." + std::to_string(i), history_[i].y.clone());
    }
    return state;
}

void Lbfgs::restore(const NamedTensors& state) {
    StateReader reader(name, state);
    std::deque<Pair> history;
    for (size_t i = 0; i < state.size() / 2; ++i) {
        const std::string k = std::to_string(i);
        const Tensor s = reader.tensor("s." + k, history.empty() ? Tensor() : history[0].s);
        if (s.rank() != 1 || !is_floating(s.dtype()))
            throw ShapeError(name, "'s.", k, "' of the state is ", s,
                             ", expected a vector of f32 or f64");
        const Tensor y = reader.tensor("y." + k, s);
        const double product = dot(s, y);
        if (!(product > 0))
            throw ValueError(name, "'s.", k, "' of the state times its y is ", product,
                             ", expected more than 0");
        history.push_back({s, y, product});
    }
    reader.finish();
    if (int64_t(history.size()) > options_.history)
        throw ValueError(name, "the state has 's.", options_.history, "', but only ",
                         options_.history, " pairs are kept; make `history` larger");
    history_ = std::move(history);
}

}  // namespace mercer
