#include "models/tasks/series_regression.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "autograd/functions.h"

namespace mercer {
namespace {

constexpr int64_t width = 64;

struct Standard {
    double mean = 0, deviation = 1;

    explicit Standard(const std::vector<double>& values) {
        double sum = 0, squares = 0;
        for (const double v : values) sum += v;
        mean = sum / double(values.size());
        for (const double v : values) squares += (v - mean) * (v - mean);
        const double spread = std::sqrt(squares / double(values.size())), size = std::abs(mean);
        // What is constant but for rounding has no deviation: noise is not to be fitted.
        deviation = spread > 1e-12 * size ? spread : size > 0 ? size : 1;
    }
};

}  // namespace

SeriesTransformer::SeriesTransformer(int64_t heads, SmootherOptions smoother, Key key)
    : embed_(3, width, key.split(0)),
      encoder_(width, width, heads, std::move(smoother), key.split(1)),
      read_(width, 1, key.split(2)) {}

Var SeriesTransformer::forward(const Binding& at, const Var& x) const {
    return reshape(read_.forward(at, encoder_.forward(at, embed_.forward(at, x))), {x.size(0)});
}

Tensor SeriesTransformer::weights(const Tensor& x, int64_t every) const {
    const Var all = embed_.forward({}, x);
    return encoder_.attention.weights({}, slice(all, 0, 0, x.size(0), every), all).value();
}

Parameters SeriesTransformer::parameters() {
    Parameters all;
    embed_.collect(all, "embed.");
    encoder_.collect(all, "encoder.");
    read_.collect(all, "read.");
    return all;
}

Tensor series_inputs(const std::vector<double>& time) {
    const Standard standard(time);
    std::vector<float> rows;
    for (const double t : time) {
        const double wave = 2 * std::numbers::pi * t;
        for (const double x :
             {(t - standard.mean) / standard.deviation, std::sin(wave), std::cos(wave)})
            rows.push_back(float(x));
    }
    return Tensor::from(rows, {int64_t(time.size()), 3});
}

double rmse(const std::vector<double>& value, const std::vector<double>& prediction,
            const std::vector<int64_t>& indices) {
    double squares = 0;
    for (const int64_t i : indices) {
        const double residual = value[size_t(i)] - prediction[size_t(i)];
        squares += residual * residual;
    }
    return std::sqrt(squares / double(indices.size()));
}

SeriesFit fit_series(const MonthlySeries& series, const Split& split, int64_t heads,
                     const SmootherOptions& smoother, Key key, const FitOptions& options,
                     const Progress& progress, int64_t every) {
    const Standard standard(pick(series.value, split.train));  // the training part's alone
    const auto targets = [&](const std::vector<int64_t>& part) -> Var {
        std::vector<float> values;
        for (const double y : pick(series.value, part))
            // Within what float32 can square.
            values.push_back(
                float(std::clamp((y - standard.mean) / standard.deviation, -1e18, 1e18)));
        return Tensor::from(values);
    };
    const Var x = series_inputs(series.time), target = targets(split.train),
              unseen = targets(split.validation);
    const Tensor train = Tensor::from(split.train), validation = Tensor::from(split.validation);

    SeriesTransformer model(heads, smoother, key);
    const Parameters parameters = model.parameters();
    const auto evaluate = [&](const Binding& at) -> Evaluation {
        const Var output = model.forward(at, x);
        return {mean(square(gather(output, train, 0) - target)),
                mean(square(gather(output.detach(), validation, 0) - unseen)).item<double>()};
    };
    SeriesFit result;
    result.parameters = parameters.count();
    result.curves = fit(parameters, evaluate, options, progress);
    result.prediction = model.forward({}, x).value().to_vector<double>();
    for (double& y : result.prediction) y = standard.mean + standard.deviation * y;
    result.weights = model.weights(x.value(), every);
    return result;
}

}  // namespace mercer
