#include "cli/demo.h"

#include <chrono>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <vector>

#include "cli/demo_report.h"
#include "cli/files.h"
#include "cli/progress.h"
#include "cli/report/report.h"
#include "engine/trace.h"
#include "models/data/text.h"
#include "models/tasks/comparison.h"

namespace mercer::cli {
namespace {

std::vector<MonthlySeries> chosen_series(const DemoOptions& options) {
    if (!options.data.empty()) {
        MonthlySeries own = read_monthly(Csv::read(options.data));
        own.id = "data";
        own.name = printable(options.data.stem().string());
        own.unit = "units";
        own.provenance = "From " + printable(options.data.filename().string()) + ".";
        return {std::move(own)};
    }
    std::vector<MonthlySeries> out;
    if (options.series != "airline") out.push_back(co2_series());
    if (options.series != "co2") out.push_back(airline_series());
    return out;
}

// Columns count code points: names hold dashes and subscripts.
std::string padded(const std::string& text, size_t width, bool right = false) {
    size_t shown = 0;
    for (const char c : text) shown += (static_cast<unsigned char>(c) & 0xC0) != 0x80;
    const std::string space(shown < width ? width - shown : 0, ' ');
    return right ? space + text : text + space;
}

void print_table(const Comparison& c) {
    std::printf("%s (%s): RMSE on %zu test months of %zu\n", c.series.name.c_str(),
                c.series.unit.c_str(), c.split.test.size(), c.series.time.size());
    std::printf("  %s %10s %9s %15s\n", padded("model", 24).c_str(), "test RMSE", "± sd",
                "linear / this");
    for (const ModelResult& m : c.models) {
        const std::string sd = m.test_rmse.size() > 1 ? number(m.test_sd(), 3) : "";
        const auto ratio = c.times(c.model("linear"), m);
        std::printf("  %s %s %s %s\n", padded(m.name, 24).c_str(),
                    padded(number(m.test_mean(), 3), 10, true).c_str(), padded(sd, 8, true).c_str(),
                    padded(ratio ? number(*ratio, 2) : "", 15, true).c_str());
    }
    std::printf("\n");
}

}  // namespace

void run_demo(const DemoOptions& options) {
    const auto started = std::chrono::steady_clock::now();
    require_writable("demo --out", options.out);
    Trace trace;
    if (!options.trace.empty()) {
        require_writable("demo --trace", options.trace);
        trace.start();
    }
    std::vector<Comparison> results;
    Progress line(options.quiet);
    for (const MonthlySeries& series : chosen_series(options)) {
        const TraceScope scope(series.name);
        const int64_t heads = usual_heads(series);
        const ComparisonOptions comparison{
            .seed = options.seed,
            .heads = heads,
            .fit = {.epochs = options.epochs},
            .every = int64_t(attention_stride(size_t(heads), series.value.size()))};
        results.push_back(
            compare_models(series, comparison, [&](const std::string& what, double done, double) {
                line.show(series.name + ": " + what, done);
            }));
    }
    line.clear();
    if (trace.running()) trace.stop();
    const double seconds =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - started).count();
    const nlohmann::json report =
        demo_report(results, {options.command, options.seed, options.epochs, seconds});
    write_report(options.out, report);
    for (const Comparison& c : results) print_table(c);
    std::printf("%s\n", printable(options.out.string()).c_str());
    // Last: a trace that fails should not cost the results.
    if (!options.trace.empty()) trace.write_chrome(options.trace);
}

}  // namespace mercer::cli
