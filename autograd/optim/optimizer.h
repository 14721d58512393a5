// What all optimisers of first order share: one fused pass over the parameters, groups, and the
// state.
//
//   Adam adam({.lr = 1e-3});
//   adam.configure(no_decay_for_vectors(parameters));        // if some parameters are special
//   for (…) { adam.set_lr(schedule(step)); adam.step(parameters, tape.gradient(loss, vars)); }
#pragma once

#include <initializer_list>
#include <optional>
#include <span>
#include <vector>

#include "autograd/optim/state.h"
#include "engine/cpu/optim_table.h"

namespace mercer {

/// How one parameter departs from the optimiser's options.
struct ParameterOptions {
    double lr_scale = 1;                                // times the learning rate
    std::optional<double> weight_decay = std::nullopt;  // in place of the optimiser's
};

/// Weight decay 0 for parameters of rank 0 and 1 (biases, gains of norms), the optimiser's for the
/// others.
MERCER_API std::vector<ParameterOptions> no_decay_for_vectors(std::span<Tensor* const> parameters);

class MERCER_API Optimizer {
public:
    virtual ~Optimizer();
    Optimizer(const Optimizer&) = delete;
    Optimizer& operator=(const Optimizer&) = delete;

    /// One update of all parameters in place: a single pass over parameters, gradients and state,
    /// cut by sizes only; the same bits on every instruction set and number of threads. Bumps the
    /// parameters' versions. A parameter whose gradient is not defined is left as it is, and so are
    /// its state and its count of updates. A stop (engine/cancel.h) takes effect before a step,
    /// never within. Parameters keep their order and shapes between calls.
    /// Throws, with nothing changed: ShapeError, DTypeError (not f32 or f64), InPlaceError (a
    /// strided view; two parameters that share memory, looked for at the first step), Cancelled.
    void step(std::span<Tensor* const> parameters, std::span<const Tensor> gradients);

    double lr() const { return lr_; }
    /// ValueError unless 0 or more and finite.
    void set_lr(double lr);

    /// Options for each parameter, in the order that step() is given them; an empty list: the same
    /// for all. ValueError out of range; step() throws ShapeError when their number does not fit.
    void configure(std::vector<ParameterOptions> each);

    /// All that the next step depends on besides the options and configure(): "lr" (f64), "step"
    /// (i64, updates of each parameter) and, once there was a step, the numbers remembered of the
    /// i-th parameter, as in "m.0". Copies.
    NamedTensors state() const;
    /// Takes up a state(). Throws, with nothing changed, ValueError (a name missing, unknown; a
    /// value out of range), DTypeError, ShapeError, each naming the tensor. Shapes are held against
    /// the parameters by the next step().
    void restore(const NamedTensors& state);

protected:
    /// `remembered`: names of the numbers kept for each element, which start at `initial`.
    Optimizer(const char* name, std::initializer_list<const char*> remembered, double lr,
              double weight_decay, double initial = 0);
    /// The rule and constants of a parameter's t-th update, t ≥ 1.
    struct Formula {
        cpu::UpdateRule rule;
        cpu::UpdateConstants constants;
    };
    virtual Formula formula(int64_t t, double lr, double weight_decay) const = 0;

private:
    void check(std::span<Tensor* const> parameters, std::span<const Tensor> gradients) const;
    void begin(std::span<Tensor* const> parameters);
    std::string state_name(size_t parameter, size_t k) const;

    const char* name_;
    std::vector<const char*> remembered_;
    double lr_, weight_decay_, initial_;
    std::vector<ParameterOptions> each_;
    std::vector<int64_t> steps_;  // updates of each parameter
    std::vector<Tensor> state_;   // for each parameter, what is remembered
    bool checked_ = false;        // that no two parameters share memory
    std::vector<cpu::UpdateItem> items_;
};

}  // namespace mercer
