// Adam against its algorithm by hand, and its state.
#include "autograd/optim/adam.h"

#include <doctest/doctest.h>

#include <cmath>

#include "engine/error.h"
#include "engine/functions.h"
#include "engine/random.h"
#include "tests/support/bits.h"

using namespace mercer;

TEST_CASE("six steps of algorithm 1, by hand") {
    Tensor p = Tensor::from(std::vector<double>{1, -2, 0.5});
    Adam adam({.lr = 0.1, .beta1 = 0.8, .beta2 = 0.95, .epsilon = 1e-6});
    std::vector<double> w{1, -2, 0.5}, m(3, 0), v(3, 0);
    for (int t = 1; t <= 6; ++t) {
        std::vector<double> g(3);
        for (size_t i = 0; i < 3; ++i) {
            g[i] = std::sin(double(t) * (double(i) + 1)) * w[i];
            m[i] = 0.8 * m[i] + 0.2 * g[i];
            v[i] = 0.95 * v[i] + 0.05 * g[i] * g[i];
            const double mh = m[i] / (1 - std::pow(0.8, t)), vh = v[i] / (1 - std::pow(0.95, t));
            w[i] -= 0.1 * mh / (std::sqrt(vh) + 1e-6);
        }
        Tensor* parameters[] = {&p};
        const Tensor gradients[] = {Tensor::from(g)};
        adam.step(parameters, gradients);
        for (size_t i = 0; i < 3; ++i)
            CHECK(p.to_vector<double>()[i] == doctest::Approx(w[i]).epsilon(1e-13));
    }
}

TEST_CASE("a restored state continues bit for bit") {
    Tensor a = randn(Key{1, 1}, {1000}), b = a.clone();
    Adam one, two;
    const auto step = [](Adam& adam, Tensor& p, uint64_t t) {
        Tensor* parameters[] = {&p};
        const Tensor gradients[] = {randn(Key{2, t}, {1000})};
        adam.step(parameters, gradients);
    };
    for (uint64_t t = 0; t < 3; ++t) step(one, a, t);
    Tensor copy = a.clone();
    two.restore(one.state());
    for (uint64_t t = 3; t < 6; ++t) {
        step(one, a, t);
        step(two, copy, t);
    }
    CHECK(difference(a, copy) == "");
    CHECK(difference(a, b) != "");
}

TEST_CASE("what does not fit is refused") {
    Adam adam;
    Tensor p = Tensor::zeros({3});
    Tensor* parameters[] = {&p};
    const Tensor wrong[] = {Tensor::zeros({4})};
    CHECK_THROWS_AS(adam.step(parameters, wrong), ShapeError);
    CHECK_THROWS_AS(adam.step(parameters, {}), ShapeError);
    CHECK_THROWS_AS(Adam({.beta1 = 1}), ValueError);
}
