// L-BFGS: its recursion against the dense update, its convergence, its state.
#include "autograd/optim/lbfgs.h"

#include <doctest/doctest.h>

#include <cmath>

#include "autograd/functions.h"
#include "autograd/optim/line_search.h"
#include "autograd/optim/sgd.h"
#include "autograd/tape.h"
#include "engine/error.h"
#include "engine/io/safetensors.h"
#include "engine/random.h"
#include "tests/support/bits.h"
#include "tests/support/files.h"

using namespace mercer;
using Outcome = Lbfgs::Outcome;

namespace {

/// Σ 100(xᵢ₊₁ − xᵢ²)² + (1 − xᵢ)².
Var rosenbrock(const Var& x) {
    const int64_t n = x.shape()[0];
    const Var a = slice(x, 0, 0, n - 1), b = slice(x, 0, 1, n);
    return sum(square(b - square(a)) * 100.0 + square(1.0 - a));
}

auto closure(Tensor& x, Var (*f)(const Var&)) {
    return [&x, f] {
        Tape tape;
        const Var v = tape.watch(x);
        const Var loss = f(v);
        return LossAndGradients{loss.value().item<double>(), {tape.gradient(loss, {v})[0]}};
    };
}

}  // namespace

TEST_CASE("Rosenbrock's valley, to 1e-10") {
    for (const int64_t n : {2, 10, 101}) {
        Tensor x = Tensor::full({n}, -1.2, DType::f64);
        Tensor* at[] = {&x};
        Lbfgs lbfgs({.iterations = 1000, .gradient_tolerance = 1e-11, .change_tolerance = 0});
        const Lbfgs::Result r = lbfgs.step(at, closure(x, rosenbrock));
        CHECK(r.outcome == Outcome::converged);
        CHECK(r.gradient <= 1e-11);
        // For n ≥ 4 there is a second minimum near x₁ = −1: either has a gradient of 0.
        if (n == 2) {
            CHECK(max(abs(x - 1.0)).item<double>() < 1e-10);
            CHECK(r.loss < 1e-20);
        }
        CHECK(r.iterations < 60 * n);
        CHECK(r.evaluations < 2 * r.iterations + 20);
    }
    Tensor x = Tensor::zeros({50}, DType::f64);
    Tensor* at[] = {&x};
    Lbfgs({.iterations = 1000, .gradient_tolerance = 1e-11, .change_tolerance = 0})
        .step(at, closure(x, rosenbrock));
    CHECK(max(abs(x - 1.0)).item<double>() < 1e-10);
}

TEST_CASE("losses whose gradients' squares overflow, and parameters as large") {
    const Tensor to = Tensor::arange(10, DType::f64);
    for (const double k : {1., 1e60, 1e140, 1e160, 1e250})
        for (const bool far : {false, true}) {
            if (far && k > 1e140) continue;  // the loss itself is infinite
            CAPTURE(k);
            CAPTURE(far);
            const double unit = far ? k : 1;
            Tensor x = Tensor::full({10}, -1.2 * unit, DType::f64);
            Tensor* at[] = {&x};
            Lbfgs lbfgs({.iterations = 100, .gradient_tolerance = 1e-6 * k});
            const Lbfgs::Result r = lbfgs.step(at, [&] {
                Tape tape;
                const Var v = tape.watch(x),
                          loss = sum(square(v - to * unit) * (to + 1.0)) * (far ? 1 : k);
                return LossAndGradients{loss.value().item<double>(), {tape.gradient(loss, {v})[0]}};
            });
            CHECK(r.outcome == Outcome::converged);
            CHECK(max(abs(x / unit - to)).item<double>() < 1e-6);
            CHECK(r.evaluations < 60);
        }
}

// With all pairs kept, the recursion is BFGS: H ← (1 − ρsyᵀ)H(1 − ρysᵀ) + ρssᵀ from H = γ·1, γ of
// the last pair (Nocedal and Wright, eq. 7.16, 7.20), here with dense matrices in plain loops,
// along the points that were taken.
TEST_CASE("six iterations by hand") {
    constexpr size_t n = 3;
    using Vector = std::array<double, n>;
    const auto f = [](const Vector& x) {
        double sum = 0;
        for (size_t i = 0; i < n; ++i)
            sum += double(i + 1) * std::cosh(x[i] - 0.3 * x[(i + 1) % n]);
        return sum;
    };
    const auto gradient = [](const Vector& x) {
        Vector g{};
        for (size_t i = 0; i < n; ++i) {
            const double d = double(i + 1) * std::sinh(x[i] - 0.3 * x[(i + 1) % n]);
            g[i] += d;
            g[(i + 1) % n] -= 0.3 * d;
        }
        return g;
    };
    const auto dot = [](const Vector& a, const Vector& b) {
        return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
    };
    Tensor p = Tensor::from(std::vector<double>{1, -2, 1.5});
    Tensor* at[] = {&p};
    const auto point = [&] {
        const std::vector<double> v = p.to_vector<double>();
        return Vector{v[0], v[1], v[2]};
    };
    std::vector<Vector> tried;
    const auto evaluate = [&] {
        tried.push_back(point());
        const Vector g = gradient(point());
        return LossAndGradients{f(point()),
                                {Tensor::from(std::vector<double>(g.begin(), g.end()))}};
    };
    Lbfgs lbfgs({.iterations = 1, .gradient_tolerance = 0, .change_tolerance = 0});
    std::vector<Vector> s, y;
    for (int k = 0; k < 6; ++k) {
        const Vector x = point(), g = gradient(x);
        double h[n][n] = {};
        const double gamma = s.empty() ? 1 : dot(s.back(), y.back()) / dot(y.back(), y.back());
        for (size_t i = 0; i < n; ++i) h[i][i] = gamma;
        for (size_t m = 0; m < s.size(); ++m) {
            const double rho = 1 / dot(s[m], y[m]);
            double left[n][n], next[n][n];
            for (size_t i = 0; i < n; ++i)
                for (size_t j = 0; j < n; ++j) {
                    left[i][j] = h[i][j];
                    for (size_t l = 0; l < n; ++l) left[i][j] -= rho * s[m][i] * y[m][l] * h[l][j];
                }
            for (size_t i = 0; i < n; ++i)
                for (size_t j = 0; j < n; ++j) {
                    next[i][j] = left[i][j] + rho * s[m][i] * s[m][j];
                    for (size_t l = 0; l < n; ++l)
                        next[i][j] -= left[i][l] * rho * y[m][l] * s[m][j];
                }
            std::copy(&next[0][0], &next[0][0] + n * n, &h[0][0]);
        }
        Vector d{};
        for (size_t i = 0; i < n; ++i)
            for (size_t j = 0; j < n; ++j) d[i] -= h[i][j] * g[j];
        tried.clear();
        lbfgs.step(at, evaluate);
        // The first trial is x + d, but x + d/‖g‖₁ at the start; the point taken lies on the line
        // and meets the Wolfe conditions.
        const double first =
            k ? 1 : std::min(1.0, 1 / (std::abs(g[0]) + std::abs(g[1]) + std::abs(g[2])));
        for (size_t i = 0; i < n; ++i)
            CHECK(tried[1][i] == doctest::Approx(x[i] + first * d[i]).epsilon(1e-9));
        const Vector to = point();
        const double a = (to[0] - x[0]) / d[0], slope = dot(g, d);
        CHECK(a > 0);
        CHECK(f(to) <= f(x) + 1e-4 * a * slope);
        CHECK(std::abs(dot(gradient(to), d)) <= 0.9 * std::abs(slope));
        s.push_back({to[0] - x[0], to[1] - x[1], to[2] - x[2]});
        const Vector after = gradient(to);
        y.push_back({after[0] - g[0], after[1] - g[1], after[2] - g[2]});
    }
    CHECK(f(point()) < 6.01);  // the least is 6
}

TEST_CASE("a line search meets the conditions on crooked lines") {
    const auto search = [](auto f, auto slope, double first, const Wolfe& wolfe) {
        const LinePoint start{0, f(0.0), slope(0.0), {}};
        const auto found = line_search(
            [&](double a) {
                return LinePoint{a, f(a), slope(a), {}};
            },
            start, first, wolfe);
        REQUIRE(found.has_value());
        CHECK(found->f <= start.f + wolfe.armijo * found->a * start.slope);
        CHECK(std::abs(found->slope) <= -wolfe.curvature * start.slope);
        return found->a;
    };
    for (const double first : {1e-3, 1e-1, 1.0, 10.0, 1e3}) {
        // Moré and Thuente 1994, functions 1 and 2, with the constants they use.
        search([](double a) { return -a / (a * a + 2); },
               [](double a) { return (a * a - 2) / ((a * a + 2) * (a * a + 2)); }, first,
               {1e-3, 0.1, 50});
        search(
            [](double a) { return std::pow(a + 0.004, 5) - 2 * std::pow(a + 0.004, 4); },
            [](double a) { return 5 * std::pow(a + 0.004, 4) - 8 * std::pow(a + 0.004, 3); }, first,
            {0.1, 0.9, 50});  // c₂ = 0.1 asks for a slope that the values' last digits do not tell
        // Not defined beyond 2.
        const double a =
            search([](double x) { return x - 3 * std::log(1 + x) - std::log(2 - x); },
                   [](double x) { return 1 - 3 / (1 + x) + 1 / (2 - x); }, first, {1e-4, 0.1, 60});
        CHECK(a < 2);
    }
    // Nothing below: no point.
    CHECK(!line_search(
        [](double a) {
            return LinePoint{a, 1 + a, 1, {}};
        },
        {0, 1, -1, {}}, 1, {1e-4, 0.9, 30}));
}

TEST_CASE("several parameters, f32, and one without a gradient") {
    // A least-squares problem whose solution is known.
    const Tensor a = randn(Key{1, 1}, {40, 4}), w = randn(Key{1, 2}, {4, 1});
    const Tensor b = matmul(a, w) + 2.0;
    Tensor x = Tensor::zeros({4, 1}), bias = Tensor::zeros({}), unused = Tensor::full({3}, 7),
           none = Tensor::zeros({0});
    Tensor* at[] = {&x, &bias, &unused, &none};
    Lbfgs lbfgs({.iterations = 100, .gradient_tolerance = 1e-5});
    const Lbfgs::Result r = lbfgs.step(at, [&] {
        Tape tape;
        const Var v = tape.watch(x), c = tape.watch(bias);
        const Var loss = mean(square(matmul(Var(a), v) + c - b));
        const auto [dv, dc] = tape.gradient(loss, {v, c});
        return LossAndGradients{loss.value().item<double>(), {dv, dc, {}, {}}};
    });
    CHECK(r.gradient < 1e-3);
    CHECK(max(abs(x - w)).item<double>() < 1e-4);
    CHECK(std::abs(bias.item<double>() - 2) < 1e-4);
    CHECK(difference(unused, Tensor::full({3}, 7)) == "");
}

TEST_CASE("goes on from a file bit for bit") {
    const test::TemporaryDirectory folder;
    for (int before = 0; before < 8; ++before) {
        Tensor x = Tensor::full({6}, -1.2, DType::f64), z;
        Tensor *at[] = {&x}, *other[] = {&z};
        const LbfgsOptions options{.iterations = 3, .history = 4};
        Lbfgs one(options), two(options);
        for (int k = 0; k < before; ++k) one.step(at, closure(x, rosenbrock));
        NamedTensors file;
        add_part(file, "lbfgs", one.state());
        file.emplace("x", x);
        io::write_safetensors(folder / "l.safetensors", file);
        const NamedTensors read = io::Safetensors::open(folder / "l.safetensors").read_all();
        z = read.at("x");
        two.restore(part_of(read, "lbfgs"));
        for (int k = 0; k < 4; ++k) {
            one.step(at, closure(x, rosenbrock));
            two.step(other, closure(z, rosenbrock));
        }
        CHECK(difference(x, z) == "");
    }
}

TEST_CASE("what does not fit, and what goes wrong on the way") {
    Tensor x = Tensor::full({2}, -1.2, DType::f64), narrow = Tensor::ones({2});
    Tensor *at[] = {&x}, *mixed[] = {&x, &narrow};
    Lbfgs lbfgs({.iterations = 5});
    const auto good = closure(x, rosenbrock);
    CHECK_THROWS_AS(lbfgs.step(mixed, good), DTypeError);
    CHECK_THROWS_AS(lbfgs.step({}, good), ShapeError);
    CHECK_THROWS_AS(lbfgs.step(at, [&] { return LossAndGradients{1, {}}; }), ShapeError);
    CHECK_THROWS_AS(lbfgs.step(at,
                               [&] {
                                   return LossAndGradients{1, {Tensor::ones({2})}};
                               }),
                    ShapeError);
    CHECK_THROWS_AS(lbfgs.step(at,
                               [&] {
                                   return LossAndGradients{std::nan(""), {x}};
                               }),
                    NumericalError);
    int calls = 0;
    std::vector<Tensor> tried;
    CHECK_THROWS_AS(lbfgs.step(at,
                               [&] {
                                   tried.push_back(x.clone());
                                   if (++calls == 3) throw IoError("test", "the disk is full");
                                   return good();
                               }),
                    IoError);
    // The third evaluation was a trial of the first or second iteration: the last accepted point stands.
    CHECK((difference(x, tried[0]) == "" || difference(x, tried[1]) == ""));
    CHECK(difference(x, tried[2]) != "");
    Lbfgs again;
    again.step(at, good);
    NamedTensors state = again.state();
    Tensor five = Tensor::zeros({5}, DType::f64);
    Tensor* other[] = {&five};
    CHECK_THROWS_AS(again.step(other, closure(five, rosenbrock)), ShapeError);
    state.erase("y.0");
    CHECK_THROWS_AS(again.restore(state), ValueError);
    state = again.state();
    state["y.0"] = Tensor::zeros({2}, DType::f64);
    CHECK_THROWS_AS(again.restore(state), ValueError);
    state["y.0"] = Tensor::zeros({3}, DType::f64);
    CHECK_THROWS_AS(again.restore(state), ShapeError);
    CHECK_THROWS_AS(Lbfgs({.history = 1}).restore(again.state()), ValueError);
    CHECK_THROWS_AS(Lbfgs({.armijo = 0.95}), ValueError);
    CHECK_THROWS_AS(Lbfgs({.iterations = 0}), ValueError);
    // Gradients of the wrong sign: nothing lower is found, and the parameters are where they were.
    const Tensor here = x.clone();
    Lbfgs fooled({.trials = 20});
    const Lbfgs::Result r = fooled.step(at, [&] {
        LossAndGradients now = good();
        now.gradients[0] = -now.gradients[0] * 1e3;
        return now;
    });
    CHECK((r.outcome == Outcome::no_descent || r.outcome == Outcome::converged));
    CHECK(difference(x, here) == "");
}
