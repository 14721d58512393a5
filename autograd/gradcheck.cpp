#include "autograd/gradcheck.h"

#include <algorithm>
#include <cmath>
#include <sstream>

#include "autograd/functions.h"
#include "autograd/tape.h"
#include "engine/error.h"

namespace mercer {
namespace {

std::vector<Var> watch_all(Tape& tape, std::span<const Tensor> inputs) {
    std::vector<Var> vars;
    for (const Tensor& t : inputs) vars.push_back(tape.watch(t));
    return vars;
}

double inner(const Tensor& a, const Tensor& b) { return sum(a * b).item<double>(); }

// ∇⟨u, f⟩ with respect to every input, u being the last of `inputs`.
std::vector<Tensor> first_gradient(VarFunction f, std::span<const Tensor> inputs) {
    Tape tape;
    const std::vector<Var> x = watch_all(tape, inputs);
    const Var loss = sum(x.back() * f(std::span(x).first(x.size() - 1)));
    return tape.gradient(loss, x);
}

double weighted(std::span<const Tensor> gradient, std::span<const Tensor> weights) {
    double total = 0;
    for (size_t i = 0; i < gradient.size(); ++i) total += inner(gradient[i], weights[i]);
    return total;
}

// The stencil of a scalar function of tensors, for every element of every input.
template <class Scalar>
std::vector<Tensor> stencil(Scalar value, std::span<const Tensor> inputs, double step) {
    std::vector<Tensor> moved, out;
    for (const Tensor& t : inputs) moved.push_back(t.clone());
    for (Tensor& t : moved) {
        Tensor g = Tensor::zeros(t.shape(), DType::f64);
        for (int64_t i = 0; i < t.count(); ++i) {
            double* x = t.mutable_data<double>() + i;
            const double at = *x;
            const double h = step * std::max(1.0, std::abs(at));
            const auto shifted = [&](double by) {
                *x = at + by;
                return value(std::span<const Tensor>(moved));
            };
            const double d = shifted(-2 * h) - 8 * shifted(-h) + 8 * shifted(h) - shifted(2 * h);
            *x = at;
            g.mutable_data<double>()[i] = d / (12 * h);
        }
        out.push_back(g);
    }
    return out;
}

double compare(const char* order, std::span<const Tensor> analytic, std::span<const Tensor> numeric,
               double tolerance, GradcheckReport& report) {
    double worst = 0;
    for (size_t k = 0; k < analytic.size(); ++k) {
        const std::vector<double> a = analytic[k].to_vector<double>(),
                                  n = numeric[k].to_vector<double>();
        double largest =
            1e-3;  // a gradient that vanishes is compared with the noise of the stencil
        for (size_t i = 0; i < n.size(); ++i)
            largest = std::max({largest, std::abs(n[i]), std::abs(a[i])});
        for (size_t i = 0; i < n.size(); ++i) {
            const double error = std::abs(a[i] - n[i]) / largest;
            if (!(error <= tolerance) && report.ok) {
                std::ostringstream text;
                text.precision(17);
                text << order << " derivative, input " << k << ", element " << i << ": analytic "
                     << a[i] << ", expected " << n[i] << ", relative error " << error;
                report.failure = text.str();
                report.ok = false;
            }
            worst = std::isnan(error) ? INFINITY : std::max(worst, error);
        }
    }
    return worst;
}

}  // namespace

GradcheckReport gradcheck(VarFunction f, std::span<const Tensor> inputs,
                          const GradcheckOptions& options) {
    std::vector<Tensor> x;
    std::vector<Var> constants;
    for (const Tensor& t : inputs) {
        if (t.dtype() != DType::f64) throw DTypeError("gradcheck", "needs f64 inputs, got ", t);
        x.push_back(t);
        constants.emplace_back(t);
    }
    x.push_back(
        randn(options.key.split(1), f(constants).shape(), DType::f64));  // u, the random cotangent

    GradcheckReport report;
    const std::vector<Tensor> gradient = first_gradient(f, x);
    const auto value = [&](std::span<const Tensor> at) {
        const std::vector<Var> vars(at.begin(), at.end() - 1);
        return inner(at.back(), f(vars).value());
    };
    report.first_error =
        compare("first", gradient, stencil(value, x, options.step), options.tolerance, report);
    if (!options.second_order) return report;

    std::vector<Tensor> weights;
    for (size_t i = 0; i < gradient.size(); ++i)
        weights.push_back(randn(options.key.split(2 + i), gradient[i].shape(), DType::f64));
    Tape tape;
    const std::vector<Var> vars = watch_all(tape, x);
    const Var loss = sum(vars.back() * f(std::span(vars).first(vars.size() - 1)));
    const std::vector<Var> recorded = tape.gradient(loss, vars, create_graph);
    std::vector<Tensor> values;
    for (const Var& g : recorded) values.push_back(g.value());
    compare("recorded first", values, gradient, options.tolerance, report);
    Var directional = sum(recorded[0] * weights[0]);
    for (size_t i = 1; i < recorded.size(); ++i)
        directional = directional + sum(recorded[i] * weights[i]);
    std::vector<Tensor> second;
    if (directional.is_constant())  // f does not depend on its inputs
        for (const Tensor& t : x) second.push_back(Tensor::zeros(t.shape(), DType::f64));
    else
        second = tape.gradient(directional, vars);
    const auto directional_value = [&](std::span<const Tensor> at) {
        return weighted(first_gradient(f, at), weights);
    };
    report.second_error = compare("second", second, stencil(directional_value, x, options.step),
                                  options.second_tolerance, report);
    return report;
}

}  // namespace mercer
