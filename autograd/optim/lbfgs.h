// L-BFGS: curvature from the last few gradients, for smooth losses over a whole batch.
#pragma once

#include <deque>
#include <functional>
#include <span>
#include <vector>

#include "autograd/optim/state.h"

namespace mercer {

struct LbfgsOptions {
    double lr = 1;                     // length of the first trial in a line search
    int64_t iterations = 20;           // of a step()
    int64_t history = 10;              // pairs (s, y) kept
    int64_t trials = 25;               // of a line search
    double gradient_tolerance = 1e-7;  // done when max |g| is no larger
    double change_tolerance = 1e-12;  // done when the loss changes by no more than this share of it
    double armijo = 1e-4, curvature = 0.9;  // c₁ < c₂ of the strong Wolfe conditions
};

/// The loss at the parameters as they are, and a gradient for each of them.
struct LossAndGradients {
    double loss;
    std::vector<Tensor> gradients;
};

/// Nocedal and Wright 2006, algorithms 7.4 (two-loop recursion, with γ of eq. 7.20) and 7.5; the
/// steps' lengths meet the strong Wolfe conditions (eq. 3.7) by algorithms 3.5 and 3.6, with the
/// cubic of eq. 3.59. The first trial is lr, and lr·min(1, max(1, max |x|/1024)/‖g‖₁) while there is
/// no history.
class MERCER_API Lbfgs {
public:
    enum class Outcome : uint8_t {
        converged,   // max |g| ≤ gradient_tolerance
        stalled,     // the loss hardly changes
        iterations,  // as many as were allowed
        no_descent  // nothing lower along the steepest descent: the limit of precision, or wrong gradients
    };
    struct Result {
        double loss, gradient;  // at the parameters as they are now; max |g|
        int64_t iterations, evaluations;
        Outcome outcome;
    };

    /// ValueError naming the option that is out of range.
    explicit Lbfgs(const LbfgsOptions& options = {});

    /// Lowers the loss, moving the parameters in place; `evaluate` is called with trial values in
    /// them. What it throws goes through, with the parameters at the last accepted point.
    /// Parameters keep their order and shapes between calls and share one dtype. Throws ShapeError,
    /// DTypeError, InPlaceError (expanded views), NumericalError (loss or gradient not finite at
    /// the start).
    /// Cost of an iteration: 4·history + 10 passes over vectors of all parameters, and the
    /// evaluations.
    Result step(std::span<Tensor* const> parameters,
                const std::function<LossAndGradients()>& evaluate);

    /// "s.i" and "y.i", the i-th eldest pair, each a vector of all parameters. Copies. restore()
    /// throws as Optimizer::restore does.
    NamedTensors state() const;
    void restore(const NamedTensors& state);

private:
    struct Pair {
        Tensor s, y;
        double product;  // s·y > 0
    };
    Tensor direction(const Tensor& gradient) const;
    void remember(const Tensor& s, const Tensor& y);

    LbfgsOptions options_;
    std::deque<Pair> history_;
};

}  // namespace mercer
