// Training: it learns, it repeats bit for bit on any number of threads, and it reads no test value.
#include <doctest/doctest.h>

#include <cmath>
#include <limits>

#include "autograd/functions.h"
#include "engine/error.h"
#include "engine/memory.h"
#include "engine/parallel.h"
#include "models/tasks/comparison.h"
#include "tests/support/bits.h"

using namespace mercer;

namespace {

SeriesFit train(const MonthlySeries& series, int epochs, uint64_t seed = 1,
                const Kernel& kernel = rbf()) {
    return fit_series(series, random_split(series.size(), Key{5}), 4, {.kernel = kernel}, Key{seed},
                      {.epochs = epochs});
}

// Bit for bit: all that training made.
void check_same(const SeriesFit& a, const SeriesFit& b) {
    CHECK(a.curves.loss == b.curves.loss);
    CHECK(a.curves.validation == b.curves.validation);
    CHECK(a.curves.best_epoch == b.curves.best_epoch);
    CHECK(a.prediction == b.prediction);
    CHECK(a.weights.to_vector<float>() == b.weights.to_vector<float>());
}

}  // namespace

TEST_CASE("the loss falls") {
    for (const Kernel& kernel : {dot_product(), rbf()}) {
        const SeriesFit fit = train(airline_series(), 60, 1, kernel);
        REQUIRE(fit.curves.loss.size() == 60);
        CHECK(fit.curves.loss.back() < 0.1 * fit.curves.loss.front());
        CHECK(fit.curves.validation.back() < 0.3 * fit.curves.validation.front());
    }
}

TEST_CASE("the same seed gives the same bits, on any number of threads") {
    const int before = thread_count();
    const MonthlySeries series = co2_series();  // long enough that loops are split
    set_thread_count(1);
    const SeriesFit alone = train(series, 12);
    check_same(alone, train(series, 12));
    set_thread_count(2);
    check_same(alone, train(series, 12));
    set_thread_count(before);
    CHECK(alone.prediction != train(series, 12, 2).prediction);
}

TEST_CASE("weights of each `every`-th month are those rows, and all that takes memory") {
    MonthlySeries series;
    for (int month = 0; month < 2400; ++month) {
        series.time.push_back(1800 + (month + .5) / 12);
        series.value.push_back(month + std::sin(month * .5236));
    }
    const auto fit = [&](int64_t every) {
        return fit_series(series, random_split(series.size(), Key{5}), 4, {.kernel = rbf()}, Key{1},
                          {.epochs = 1}, {}, every);
    };
    const SeriesFit all = fit(1);
    reset_peak_memory();
    const size_t before = memory_stats().live;
    const SeriesFit some = fit(7);
    CHECK(memory_stats().peak - before < 64 << 20);  // of all: 4 · 2400² floats, several times
    CHECK(some.prediction == all.prediction);
    CHECK(difference(some.weights, slice(all.weights, 1, 0, 2400, 7).contiguous()) == "");
}

TEST_CASE("test values influence nothing") {
    const MonthlySeries series = airline_series();
    MonthlySeries blind = series;
    for (const int64_t i : random_split(series.size(), Key{5}).test)
        blind.value[size_t(i)] = std::numeric_limits<double>::quiet_NaN();
    check_same(train(series, 40), train(blind, 40));

    const ComparisonOptions options{.seeds = 1, .fit = {.epochs = 5}};
    MonthlySeries hidden = series;
    for (const int64_t i : random_split(series.size(), Key{0}.split(0)).test)
        hidden.value[size_t(i)] *= -1e3;
    const Comparison open = compare_models(series, options), shut = compare_models(hidden, options);
    CHECK(open.bandwidth.bandwidth == shut.bandwidth.bandwidth);
    for (const ModelResult& m : open.models) {
        CAPTURE(m.id);
        CHECK(m.prediction == shut.model(m.id).prediction);
        CHECK(m.validation_rmse == shut.model(m.id).validation_rmse);
        CHECK(m.test_rmse != shut.model(m.id).test_rmse);
    }
}

TEST_CASE("validation values choose the epoch, but train nothing") {
    const MonthlySeries series = airline_series();
    MonthlySeries other = series;
    for (const int64_t i : random_split(series.size(), Key{5}).validation)
        other.value[size_t(i)] += 500;
    const SeriesFit a = train(series, 30), b = train(other, 30);
    CHECK(a.curves.loss == b.curves.loss);
    CHECK(a.curves.validation != b.curves.validation);
}

TEST_CASE("the kept parameters are those of the best epoch") {
    // One parameter p goes from 4 towards 0; the validation score is least where p is nearest 1.
    Tensor p = Tensor::from({4.0f});
    Parameters parameters;
    parameters.add("p", p);
    std::vector<float> path;
    const auto evaluate = [&](const Binding& at) -> Evaluation {
        path.push_back(p.item<float>());
        return {sum(square(at(p))), std::abs(path.back() - 1.0)};
    };
    int calls = 0;
    const FitResult result = fit(parameters, evaluate, {.epochs = 200, .lr = 0.05},
                                 [&](int epoch, double, double) { CHECK(epoch == calls++); });
    CHECK(calls == 200);
    CHECK(p.item<float>() == path[size_t(result.best_epoch)]);
    CHECK(std::abs(p.item<double>() - 1) < 0.03);
    CHECK(std::abs(path.back()) < 0.1);
    for (const double v : result.validation)
        CHECK(result.validation[size_t(result.best_epoch)] <= v);
}

TEST_CASE("a loss that is not finite is a numerical error, and names the epoch") {
    Tensor p = Tensor::from({1.0f});
    Parameters parameters;
    parameters.add("p", p);
    const auto evaluate = [&](const Binding& at) -> Evaluation {
        return {sum(log(at(p) - 1.0)), 0};
    };
    try {
        (void)fit(parameters, evaluate, {.epochs = 3});
        FAIL("accepted");
    } catch (const NumericalError& error) {
        CHECK(std::string(error.what()).find("epoch 0") != std::string::npos);
    }
    CHECK_THROWS_AS(fit(parameters, evaluate, {.epochs = 0}), ValueError);
}

TEST_CASE("attention weights of a trained model are weights") {
    const SeriesFit fit = train(airline_series(), 20);
    CHECK(fit.weights.shape() == Shape{4, 144, 144});
    CHECK(min(fit.weights).item<double>() >= 0);
    CHECK(max(abs(sum(fit.weights, {-1}) - 1.0)).item<double>() < 1e-5);
}

TEST_CASE("mean and standard deviation over seeds") {
    ModelResult m{.id = "m", .name = "m", .detail = "", .test_rmse = {1, 2, 6}};
    CHECK(m.test_mean() == 3);
    CHECK(m.test_sd() == doctest::Approx(std::sqrt(7.0)));
    m.test_rmse = {5};
    CHECK(m.test_sd() == 0);
}
