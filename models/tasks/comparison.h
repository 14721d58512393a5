// One series, five models, one split: what `mercer demo` shows. Two Transformers, whose attention
// is a dot-product and an RBF kernel, against the smoother in time alone and least squares.
// Everything is chosen on the training and validation parts; the test part is read here, once, when
// all is chosen.
#pragma once

#include <functional>
#include <optional>

#include "models/regression/nadaraya_watson.h"
#include "models/tasks/series_regression.h"

namespace mercer {

struct MERCER_API ModelResult {
    enum class Kind { baseline, smoother, transformer };
    std::string id, name, detail;
    Kind kind = Kind::baseline;
    int64_t parameters = 0;
    std::vector<double> test_rmse{},
        validation_rmse{};             // for each seed; one value where nothing is random
    std::vector<double> prediction{};  // of the first seed, for every point
    FitResult curves{};                // Transformers: of the first seed
    Tensor weights{};                  // Transformers: [heads, ⌈n/every⌉, n], of the first seed

    double test_mean() const;
    double test_sd() const;  // with n − 1; 0 for a single value
};

struct MERCER_API Comparison {
    MonthlySeries series;
    Split split;
    BandwidthChoice bandwidth;
    std::vector<ModelResult> models;
    double seconds = 0;

    /// ValueError for an unknown id.
    const ModelResult& model(std::string_view id) const;
    /// How many times the test error of `other` that of `model` is. Below 1e-12 of the largest value
    /// errors are roundings, whose quotients say nothing: they count as 0, and there is no answer where
    /// the other's is one.
    std::optional<double> times(const ModelResult& model, const ModelResult& other) const;
};

struct ComparisonOptions {
    uint64_t seed = 0;  // draws the split; Transformer k starts from seed + k
    int seeds = 3;
    int64_t heads = 4;
    FitOptions fit{};
    int64_t every = 1;  // weights are kept of each `every`-th month: of all, in memory n²
};

/// The heads that the reference used for the two built-in series: 8 for CO₂, 4 for the airline; 4
/// for others.
MERCER_API int64_t usual_heads(const MonthlySeries& series);

/// Called once an epoch: which model is being trained ("RBF Transformer, seed 2 of 3"), the share
/// of all epochs done, and the present loss.
using ComparisonProgress = std::function<void(const std::string& what, double done, double loss)>;

/// Ids: linear, harmonic, smoother, dot_product, rbf. ValueError where the part to train on is of fewer
/// than three months of the year: no season could be fitted.
MERCER_API Comparison compare_models(const MonthlySeries& series, const ComparisonOptions& options,
                                     const ComparisonProgress& progress = {});

}  // namespace mercer
