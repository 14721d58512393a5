#include "cli/demo_report.h"

#include <cmath>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "cli/files.h"
#include "cli/report/report.h"

namespace mercer::cli {
namespace {

using nlohmann::json;

// Three significant figures.
std::string figures(double x) {
    const int before = x > 0 ? int(std::floor(std::log10(x))) + 1 : 1;
    return number(x, std::max(0, 3 - before));
}

double mean(const std::vector<double>& values) {
    double sum = 0;
    for (const double v : values) sum += v;
    return sum / double(values.size());
}

json attention_of(const ModelResult& m) {
    const auto heads = size_t(m.weights.size(0)), n = size_t(m.weights.size(2));
    std::vector<std::string> names;
    for (size_t h = 0; h < heads; ++h) names.push_back("head " + std::to_string(h + 1));
    return pack_attention(m.weights.to_vector<float>(), heads, n, names);
}

json loss_of(const FitResult& curves) {
    // Every fourth epoch draws the same curve; the best one must be among them.
    json epoch = json::array(), train = json::array(), validation = json::array();
    const int last = int(curves.loss.size()) - 1;
    for (int e = 0; e <= last; ++e) {
        if (e % 4 != 0 && e != curves.best_epoch && e != last) continue;
        epoch.push_back(e);
        train.push_back(curves.loss[size_t(e)]);
        validation.push_back(curves.validation[size_t(e)]);
    }
    return {{"epoch", epoch},
            {"train", train},
            {"validation", validation},
            {"best_epoch", curves.best_epoch}};
}

json model_entry(const ModelResult& m) {
    constexpr const char* kinds[] = {"baseline", "smoother", "transformer"};
    json entry = {{"id", m.id},
                  {"name", m.name},
                  {"detail", m.detail},
                  {"kind", kinds[size_t(m.kind)]},
                  {"parameters", m.parameters},
                  {"prediction", m.prediction},
                  {"test_rmse", m.test_rmse},
                  {"test_rmse_mean", m.test_mean()},
                  {"test_rmse_sd", m.test_sd()},
                  {"validation_rmse", mean(m.validation_rmse)}};
    if (m.kind == ModelResult::Kind::transformer) {
        entry["loss"] = loss_of(m.curves);
        entry["attention"] = attention_of(m);
    }
    return entry;
}

json series_entry(const Comparison& c) {
    std::vector<int> split(c.series.time.size(), 0);
    for (const int64_t i : c.split.validation) split[size_t(i)] = 1;
    for (const int64_t i : c.split.test) split[size_t(i)] = 2;
    json models = json::array();
    for (const ModelResult& m : c.models) models.push_back(model_entry(m));
    return {{"id", c.series.id},
            {"name", c.series.name},
            {"unit", c.series.unit},
            {"cadence", "month"},
            {"provenance", c.series.provenance},
            {"time", c.series.time},
            {"value", c.series.value},
            {"split", split},
            {"reference", "linear"},
            {"bandwidth",
             {{"chosen", c.bandwidth.bandwidth},
              {"rmse", c.bandwidth.rmse},
              {"tried", c.bandwidth.tried},
              {"tried_rmse", c.bandwidth.tried_rmse}}},
            {"models", models}};
}

}  // namespace

std::string number(double x, int decimals) {
    if (!std::isfinite(x)) return "—";
    char text[64];
    const bool plain = x == 0 || (std::abs(x) >= 1e-4 && std::abs(x) < 1e9);
    std::snprintf(text, sizeof text, plain ? "%.*f" : "%.*e", plain ? decimals : 2, x);
    return text;
}

std::vector<std::string> verdict(const Comparison& c) {
    const auto error = [&](const ModelResult& m) {
        return figures(m.test_mean()) + " " + c.series.unit;
    };
    std::vector<const ModelResult*> transformers;
    const ModelResult* rival = nullptr;
    for (const ModelResult& m : c.models) {
        if (m.kind == ModelResult::Kind::transformer)
            transformers.push_back(&m);
        else if (!rival || m.test_mean() < rival->test_mean())
            rival = &m;
    }
    std::vector<std::string> lines;
    // "1.23 times less than ", or nothing where errors are roundings.
    const auto against = [&](const ModelResult& m, const ModelResult& other, int decimals) {
        const bool better = m.test_mean() < other.test_mean();
        const auto times = better ? c.times(other, m) : c.times(m, other);
        return times
                   ? number(*times, decimals) + (better ? " times less than " : " times more than ")
                   : std::string();
    };
    for (const ModelResult* m : transformers) {
        std::string line = c.series.name + ": the " + m->name + " misses test months by " +
                           error(*m) + " (RMSE, mean of " + std::to_string(m->test_rmse.size()) +
                           " seeds)";
        if (const std::string gain = against(*m, c.model("linear"), 1); !gain.empty())
            line += ", " + gain + "the linear trend";
        const std::string lead = against(*m, *rival, 2);
        line += lead.empty() ? "; the best simpler model is "
                             : "; that is " + lead + "the best simpler model, ";
        lines.push_back(line + rival->name + " (" + error(*rival) + ").");
    }
    return lines;
}

json demo_report(const std::vector<Comparison>& results, const DemoRun& run) {
    json series = json::array(), lines = json::array();
    for (const Comparison& c : results) {
        series.push_back(series_entry(c));
        for (const std::string& line : verdict(c)) lines.push_back(line);
    }
    json report = {{"title", "Attention as kernel smoothing"},
                   {"seed", run.seed},
                   {"epochs", run.epochs},
                   {"verdict", lines},
                   {"series", series}};
    report.update(provenance(run.command, run.seconds));
    return report;
}

}  // namespace mercer::cli
