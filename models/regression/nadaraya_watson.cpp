#include "models/regression/nadaraya_watson.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

#include "attention/smoother/reference.h"
#include "autograd/functions.h"
#include "engine/error.h"

namespace mercer {
namespace {

Var column(const std::vector<double>& values) {
    return Tensor::from(values, {int64_t(values.size()), 1});
}

// The leave-one-out error, with what does not depend on h computed once.
struct LeaveOneOut {
    Var time, value;
    Tensor others;  // [n, n], false on the diagonal

    LeaveOneOut(const std::vector<double>& t, const std::vector<double>& y)
        : time(column(t)), value(column(y)) {
        if (t.size() < 2 || t.size() != y.size())
            throw ValueError("leave_one_out", std::to_string(t.size()) + " times and " +
                                                  std::to_string(y.size()) +
                                                  " values; give two or more of each");
        const int64_t n = int64_t(t.size());
        others = Tensor::full({n, n}, 1, DType::boolean);
        bool* seen = others.mutable_data<bool>();
        for (int64_t i = 0; i < n; ++i) seen[i * (n + 1)] = false;
    }

    double operator()(double h) const {
        const Var hidden = Tensor::scalar(-std::numeric_limits<double>::infinity(), DType::f64);
        const Var logits =
            where(others, log_weights(time, time, {.kernel = nadaraya_watson(h)}), hidden);
        return std::sqrt(mean(square(matmul(softmax(logits), value) - value)).item<double>());
    }
};

// The least of f between a and b, where f falls and then rises (Kiefer 1953).
template <class F>
double golden_section(F f, double a, double b) {
    constexpr double ratio = 1 / std::numbers::phi;
    double x1 = b - ratio * (b - a), x2 = a + ratio * (b - a);
    double f1 = f(x1), f2 = f(x2);
    for (int i = 0; i < 24; ++i) {  // ratio²⁴ < 1e-5 of the grid's step
        if (f1 <= f2) {
            b = x2, x2 = x1, f2 = f1;
            f1 = f(x1 = b - ratio * (b - a));
        } else {
            a = x1, x1 = x2, f1 = f2;
            f2 = f(x2 = a + ratio * (b - a));
        }
    }
    return f1 <= f2 ? x1 : x2;
}

// Logarithms of bandwidths from a quarter of the smallest gap to the whole span.
std::vector<double> logarithmic_grid(std::vector<double> time) {
    std::ranges::sort(time);
    double gap = std::numeric_limits<double>::infinity();
    for (size_t i = 1; i < time.size(); ++i)
        if (time[i] > time[i - 1]) gap = std::min(gap, time[i] - time[i - 1]);
    if (!std::isfinite(gap))
        throw ValueError("choose_bandwidth",
                         "all times are equal; give two or more different ones");
    constexpr int points = 60;
    const double low = std::log(gap / 4), high = std::log(time.back() - time.front());
    std::vector<double> grid;
    for (int i = 0; i < points; ++i) grid.push_back(low + (high - low) * i / (points - 1));
    return grid;
}

}  // namespace

double leave_one_out_rmse(const std::vector<double>& time, const std::vector<double>& value,
                          double h) {
    return LeaveOneOut(time, value)(h);
}

BandwidthChoice choose_bandwidth(const std::vector<double>& time,
                                 const std::vector<double>& value) {
    const LeaveOneOut error(time, value);
    const std::vector<double> grid = logarithmic_grid(time);
    BandwidthChoice choice;
    for (const double log_h : grid) {
        choice.tried.push_back(std::exp(log_h));
        choice.tried_rmse.push_back(error(choice.tried.back()));
    }
    const size_t best =
        size_t(std::ranges::min_element(choice.tried_rmse) - choice.tried_rmse.begin());
    const double left = grid[best > 0 ? best - 1 : 0],
                 right = grid[std::min(best + 1, grid.size() - 1)];
    choice.bandwidth =
        std::exp(golden_section([&](double log_h) { return error(std::exp(log_h)); }, left, right));
    choice.rmse = error(choice.bandwidth);
    if (choice.rmse >
        choice.tried_rmse[best]) {  // not unimodal there: the grid's own point is better
        choice.bandwidth = choice.tried[best];
        choice.rmse = choice.tried_rmse[best];
    }
    return choice;
}

std::vector<double> smooth(const std::vector<double>& time, const std::vector<double>& value,
                           double h, const std::vector<double>& queries) {
    return attend(column(queries), column(time), column(value), {.kernel = nadaraya_watson(h)})
        .value()
        .to_vector<double>();
}

}  // namespace mercer
