// The smoother and its bandwidth against plain loops and a published number.
#include "models/regression/nadaraya_watson.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>

#include "engine/error.h"
#include "models/data/series.h"

using namespace mercer;

namespace {

// Left out: the point of index `except`, when there is one.
double naive(const std::vector<double>& t, const std::vector<double>& y, double h, double query,
             size_t except) {
    long double top = 0, bottom = 0, nearest = INFINITY;
    for (size_t i = 0; i < t.size(); ++i)
        if (i != except) nearest = std::min<long double>(nearest, std::abs(query - t[i]));
    for (size_t i = 0; i < t.size(); ++i) {
        if (i == except) continue;
        const long double u = (query - t[i]) / h, u0 = nearest / h;
        const long double k = std::exp((u0 * u0 - u * u) / 2);
        top += k * y[i];
        bottom += k;
    }
    return double(top / bottom);
}

double naive_rmse(const std::vector<double>& t, const std::vector<double>& y, double h) {
    long double squares = 0;
    for (size_t j = 0; j < t.size(); ++j) {
        const long double e = y[j] - naive(t, y, h, t[j], j);
        squares += e * e;
    }
    return double(std::sqrt(squares / t.size()));
}

constexpr size_t nobody = size_t(-1);

Tensor column(const std::vector<double>& x) { return Tensor::from(x, {int64_t(x.size()), 1}); }
double leave_one_out_rmse(const std::vector<double>& t, const std::vector<double>& y, double h) {
    return std::sqrt(leave_one_out(column(t), column(y), h).error);
}

}  // namespace

TEST_CASE("golden number G12") {
    const std::vector<double> x{0, 1, 2, 3}, y{0, 2, 1, 3};
    CHECK(smooth(x, y, 0.8, {1.4})[0] == doctest::Approx(1.4710568125561654).epsilon(1e-12));
}

TEST_CASE("the smoother is a weighted mean") {
    const MonthlySeries s = airline_series();
    const std::vector<double> queries{1948.2, 1950.0, 1955.55, 1960.99, 1970.0};
    for (const double h : {0.02, 0.1, 1.0, 100.0}) {
        const auto found = smooth(s.time, s.value, h, queries);
        for (size_t i = 0; i < queries.size(); ++i) {
            CAPTURE(h);
            CAPTURE(queries[i]);
            CHECK(found[i] ==
                  doctest::Approx(naive(s.time, s.value, h, queries[i], nobody)).epsilon(1e-10));
        }
    }
}

TEST_CASE("its limits: interpolation, and the mean") {
    const std::vector<double> x{0, 1, 2, 4}, y{3, -1, 4, 1};
    CHECK(smooth(x, y, 1e-3, x) == y);
    for (const double v : smooth(x, y, 1e6, x)) CHECK(v == doctest::Approx(1.75).epsilon(1e-9));
}

TEST_CASE("leave-one-out equals leaving each out") {
    const MonthlySeries s = airline_series();
    for (const double h : {0.005, 0.05, 0.3, 2.0, 50.0}) {
        CAPTURE(h);
        CHECK(leave_one_out_rmse(s.time, s.value, h) ==
              doctest::Approx(naive_rmse(s.time, s.value, h)).epsilon(1e-10));
    }
}

TEST_CASE("the chosen bandwidth is at least as good as any on a fine grid") {
    const MonthlySeries s = airline_series();
    const Split split = random_split(s.size(), Key{4});
    const auto t = pick(s.time, split.train), y = pick(s.value, split.train);
    const BandwidthChoice choice = choose_bandwidth(t, y);
    CHECK(choice.rmse == leave_one_out_rmse(t, y, choice.bandwidth));
    REQUIRE(choice.tried.size() == 60);
    CHECK(std::ranges::is_sorted(choice.tried));
    CHECK(choice.tried.front() == doctest::Approx(1.0 / 48).epsilon(1e-6));
    for (size_t i = 0; i < choice.tried.size(); ++i) {
        CHECK(choice.tried_rmse[i] == leave_one_out_rmse(t, y, choice.tried[i]));
        CHECK(choice.rmse <= choice.tried_rmse[i]);
    }
    for (double h = choice.tried.front(); h < choice.tried.back(); h *= 1.02)
        CHECK(choice.rmse <= leave_one_out_rmse(t, y, h) * (1 + 1e-9));
}

TEST_CASE("the search goes below its grid") {
    // A noisy wave: the error falls and rises, and its least value lies between two tried ones.
    std::vector<double> t, y;
    const auto noise = randn(Key{9}, {80}, DType::f64).to_vector<double>();
    for (int i = 0; i < 80; ++i) {
        t.push_back(0.25 * i);
        y.push_back(std::sin(t.back()) + 0.5 * noise[size_t(i)]);
    }
    const BandwidthChoice choice = choose_bandwidth(t, y);
    CHECK(choice.rmse < std::ranges::min(choice.tried_rmse));
    for (const double step : {0.999, 1.001})
        CHECK(choice.rmse < leave_one_out_rmse(t, y, choice.bandwidth * step));
}

TEST_CASE("wrong arguments") {
    CHECK_THROWS_AS(choose_bandwidth({1}, {1}), ValueError);
    CHECK_THROWS_AS(choose_bandwidth({1, 2}, {1}), ShapeError);
    CHECK_THROWS_AS(choose_bandwidth({2, 2, 2}, {1, 2, 3}), ValueError);
    CHECK_THROWS_AS(leave_one_out_rmse({1, 2}, {1, 2}, 0), ValueError);
}
