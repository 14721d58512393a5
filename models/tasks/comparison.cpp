#include "models/tasks/comparison.h"

#include <algorithm>
#include <bit>
#include <charconv>
#include <chrono>
#include <cmath>

#include "engine/error.h"
#include "models/regression/baselines.h"

namespace mercer {
namespace {

using Kind = ModelResult::Kind;

// Three significant figures, in any locale.
std::string brief(double x) {
    char text[32];
    const auto end = std::to_chars(text, text + sizeof text, x, std::chars_format::general, 3).ptr;
    return {text, end};
}

struct Comparer {
    const ComparisonOptions& options;
    const ComparisonProgress& progress;
    Comparison result;
    std::vector<double> time, value;  // of the training part

    void score(ModelResult& model, const std::vector<double>& prediction) const {
        const auto& truth = result.series.value;
        model.validation_rmse.push_back(rmse(truth, prediction, result.split.validation));
        model.test_rmse.push_back(rmse(truth, prediction, result.split.test));
        if (model.prediction.empty()) model.prediction = prediction;
    }

    void add(ModelResult model, const std::vector<double>& prediction) {
        score(model, prediction);
        result.models.push_back(std::move(model));
    }

    void add_baselines() {
        const auto& everywhere = result.series.time;
        add({.id = "linear",
             .name = "Linear trend",
             .detail = "least squares on 1, t",
             .parameters = 2},
            linear_trend(time, value, everywhere));
        add({.id = "harmonic",
             .name = "Harmonic regression",
             .detail = "least squares on 1, t, t², sin 2πt, cos 2πt",
             .parameters = 5},
            harmonic_regression(time, value, everywhere));
        result.bandwidth = choose_bandwidth(time, value);
        const double h = result.bandwidth.bandwidth;
        add({.id = "smoother",
             .name = "Nadaraya–Watson",
             .detail = "Gaussian kernel in t, bandwidth " + brief(h) + " years by leave-one-out",
             .kind = Kind::smoother,
             .parameters = 1},
            smooth(time, value, h, everywhere));
    }

    // `order`: how many Transformers came before.
    void add_transformer(ModelResult model, const SmootherOptions& smoother, int order) {
        const double epochs = options.fit.epochs, all = 2.0 * options.seeds;
        for (int k = 0; k < options.seeds; ++k) {
            const std::string what = model.name + ", seed " + std::to_string(k + 1) + " of " +
                                     std::to_string(options.seeds);
            const auto report = [&](int epoch, double loss, double) {
                if (progress)
                    progress(what, (order * options.seeds + k + (epoch + 1) / epochs) / all, loss);
            };
            SeriesFit fit = fit_series(result.series, result.split, options.heads, smoother,
                                       Key{options.seed + uint64_t(k)}.split(1), options.fit,
                                       report, options.every);
            score(model, fit.prediction);
            if (k > 0) continue;
            model.parameters = fit.parameters;
            model.curves = std::move(fit.curves);
            model.weights = std::move(fit.weights);
        }
        result.models.push_back(std::move(model));
    }
};

}  // namespace

double ModelResult::test_mean() const {
    double sum = 0;
    for (const double e : test_rmse) sum += e;
    return sum / double(test_rmse.size());
}

double ModelResult::test_sd() const {
    if (test_rmse.size() < 2) return 0;
    double squares = 0;
    for (const double e : test_rmse) squares += (e - test_mean()) * (e - test_mean());
    return std::sqrt(squares / double(test_rmse.size() - 1));
}

const ModelResult& Comparison::model(std::string_view id) const {
    const auto found = std::ranges::find(models, id, &ModelResult::id);
    if (found == models.end()) throw ValueError("comparison", "no model is called ", id);
    return *found;
}

std::optional<double> Comparison::times(const ModelResult& model, const ModelResult& other) const {
    double largest = 0;
    for (const double y : series.value) largest = std::max(largest, std::abs(y));
    const double nothing = 1e-12 * largest;
    if (!(other.test_mean() > nothing)) return {};
    return model.test_mean() > nothing ? model.test_mean() / other.test_mean() : 0;
}

int64_t usual_heads(const MonthlySeries& series) { return series.id == "co2" ? 8 : 4; }

Comparison compare_models(const MonthlySeries& series, const ComparisonOptions& options,
                          const ComparisonProgress& progress) {
    const auto started = std::chrono::steady_clock::now();
    if (options.seeds < 1) throw ValueError("comparison", options.seeds, " seeds; give 1 or more");
    Comparer comparer{options, progress, {}, {}, {}};
    Comparison& result = comparer.result;
    result.series = series;
    result.split = random_split(series.size(), Key{options.seed}.split(0));
    comparer.time = pick(series.time, result.split.train);
    comparer.value = pick(series.value, result.split.train);

    unsigned months = 0;
    for (const double t : comparer.time)
        months |= 1U << std::clamp<int>(int(12 * (t - std::floor(t))), 0, 11);
    if (const int count = std::popcount(months); count < 3)
        throw ValueError("comparison", series.name, ": the months to train on are of ", count,
                         " month(s) of the year, which is too few to fit a season; give a "
                         "series with 3 or more (",
                         series.provenance, ")");

    comparer.add_baselines();
    const std::string heads = std::to_string(options.heads) + " heads, kernel ";
    comparer.add_transformer({.id = "dot_product",
                              .name = "Dot-product Transformer",
                              .detail = heads + "exp(⟨q, k⟩/√d)",
                              .kind = Kind::transformer},
                             {.kernel = dot_product()}, 0);
    comparer.add_transformer({.id = "rbf",
                              .name = "RBF Transformer",
                              .detail = heads + "exp(−‖q − k‖²/√d)",
                              .kind = Kind::transformer},
                             {.kernel = rbf()}, 1);
    result.seconds =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - started).count();
    return std::move(comparer.result);
}

}  // namespace mercer
