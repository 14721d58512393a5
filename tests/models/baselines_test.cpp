// Least squares: exact solutions, the normal equations, dependent columns; and the baselines built
// on it.
#include "models/regression/baselines.h"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <numbers>

#include "engine/error.h"
#include "engine/functions.h"
#include "engine/linalg.h"
#include "engine/random.h"

using namespace mercer;

TEST_CASE("an exact system gives its solution") {
    const Tensor a = randn(Key{1}, {12, 5}, DType::f64), x = randn(Key{2}, {5}, DType::f64);
    const auto found = least_squares(a, matmul(a, x)).to_vector<double>(),
               expected = x.to_vector<double>();
    for (size_t i = 0; i < 5; ++i) CHECK(found[i] == doctest::Approx(expected[i]).epsilon(1e-12));
}

TEST_CASE("a small system by hand") {
    // The line through (0, 1), (1, 3), (2, 4), (3, 4): 1.5 + x.
    const Tensor a = Tensor::from(std::vector<double>{1, 0, 1, 1, 1, 2, 1, 3}, {4, 2});
    const auto x =
        least_squares(a, Tensor::from(std::vector<double>{1, 3, 4, 4})).to_vector<double>();
    CHECK(x[0] == doctest::Approx(1.5).epsilon(1e-14));
    CHECK(x[1] == doctest::Approx(1.0).epsilon(1e-14));
}

TEST_CASE("the residual is orthogonal to the columns") {
    const Tensor a = randn(Key{3}, {40, 6}, DType::f64), b = randn(Key{4}, {40, 3}, DType::f64);
    const Tensor x = least_squares(a, b);
    CHECK(x.shape() == Shape{6, 3});
    CHECK(max(abs(matmul(transpose(a), matmul(a, x) - b))).item<double>() < 1e-12);
    // Each right-hand side on its own, from a strided view.
    const Tensor one = least_squares(a, reshape(slice(b, 1, 1, 2), {40}));
    CHECK(max(abs(one - reshape(slice(x, 1, 1, 2), {6}))).item<double>() < 1e-13);
}

TEST_CASE("float32 is solved in float64") {
    const Tensor a = randn(Key{5}, {9, 3}), x = Tensor::from({1.0f, -2.0f, 0.5f});
    const Tensor found = least_squares(a, matmul(a, x));
    CHECK(found.dtype() == DType::f32);
    CHECK(max(abs(found - x)).item<double>() < 1e-6);
}

TEST_CASE("what cannot be solved is refused") {
    const Tensor a = randn(Key{6}, {8, 2}, DType::f64), b = randn(Key{7}, {8}, DType::f64);
    CHECK_THROWS_AS(least_squares(concat({a, slice(a, 1, 0, 1) * 3.0}, 1), b), NumericalError);
    CHECK_THROWS_AS(least_squares(a * 0.0, b), NumericalError);
    CHECK_THROWS_AS(least_squares(a, b * std::numeric_limits<double>::quiet_NaN()), NumericalError);
    CHECK_THROWS_AS(least_squares(a, slice(b, 0, 0, 7)), ShapeError);
    CHECK_THROWS_AS(least_squares(transpose(a), Tensor::zeros({2}, DType::f64)), ShapeError);
    CHECK_THROWS_AS(least_squares(b, b), ShapeError);
    CHECK_THROWS_AS(least_squares(cast(a, DType::i64), b), DTypeError);
    CHECK(
        least_squares(Tensor::zeros({4, 0}, DType::f64), Tensor::zeros({4}, DType::f64)).count() ==
        0);
}

TEST_CASE("each baseline recovers what it can express, and no more") {
    std::vector<double> t, line, season;
    for (int i = 0; i < 120; ++i) {
        t.push_back(1959 + (i + 0.5) / 12);
        const double s = t.back() - 1959, wave = 2 * std::numbers::pi * t.back();
        line.push_back(315 + 1.3 * s);
        season.push_back(line.back() + 0.01 * s * s + 2.8 * std::sin(wave) - 0.4 * std::cos(wave));
    }
    const std::vector<double> some(t.begin(), t.begin() + 90),
        known(season.begin(), season.begin() + 90);
    const auto straight = linear_trend(t, line, t), wavy = harmonic_regression(some, known, t),
               poor = linear_trend(t, season, t);
    double worst = 0;
    for (size_t i = 0; i < t.size(); ++i) {
        CHECK(straight[i] == doctest::Approx(line[i]).epsilon(1e-13));
        CHECK(wavy[i] == doctest::Approx(season[i]).epsilon(1e-12));  // also beyond the known ones
        worst = std::max(worst, std::abs(poor[i] - season[i]));
    }
    CHECK(worst > 1);
    CHECK_THROWS_AS(linear_trend({2000, 2000}, {1, 2}, {2001}), NumericalError);
}
