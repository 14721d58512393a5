#include "bench/table.h"

#include <algorithm>
#include <cstdio>

#include "bench/cases.h"
#include "bench/roofline.h"

namespace mercer::bench {
namespace {

template <class Rows>
Ceilings median_of(const Rows& rows) {
    std::vector<double> fma, copy;
    for (const auto& row : rows)
        for (const auto& m : row.of)
            if (m.seconds > 0) fma.push_back(m.ceilings.fma), copy.push_back(m.ceilings.copy);
    const auto middle = [](std::vector<double>& x) {
        std::nth_element(x.begin(), x.begin() + int64_t(x.size() / 2), x.end());
        return x[x.size() / 2];
    };
    return {middle(fma), middle(copy)};
}

}  // namespace

bool Table::ReportContext(const Context& context) {
    before_ = measured_ceilings();
    return ConsoleReporter::ReportContext(context);
}

void Table::ReportRuns(const std::vector<Run>& runs) {
    for (const Run& run : runs) {
        std::string name = run.benchmark_name();
        if (!name.starts_with("ops/") || run.error_occurred || run.run_type == Run::RT_Aggregate) {
            ConsoleReporter::ReportRuns({run});
            continue;
        }
        name = name.substr(4, name.rfind('/') - 4);  // without the ending real_time
        const size_t blank = name.rfind(' ');
        const double seconds = run.real_accumulated_time / double(run.iterations);
        const auto amount = [&](const char* counter) {
            const auto at = run.counters.find(counter);
            return at == run.counters.end() ? 0.0 : at->second.value * seconds;
        };
        const std::string operation = name.substr(0, blank);
        if (rows_.empty() || rows_.back().name != operation)
            rows_.push_back({operation, run.report_label, {}});
        const Ceilings after = measured_ceilings();
        rows_.back().of[name.substr(blank + 1) == "f64"] = {
            seconds,
            amount("flop/s"),
            amount("bytes_per_second"),
            {(before_.fma + after.fma) / 2, (before_.copy + after.copy) / 2}};
        before_ = after;
        std::fprintf(stderr, "%s\n", name.c_str());
    }
}

void Table::Finalize() {
    if (rows_.empty()) return;
    const auto [fma, copy] = median_of(rows_);
    std::printf(
        "%d threads, %s: %.0f GFLOP/s by fma (f32), %.1f GB/s by copying, both measured before and "
        "after each case "
        "(these are medians). The ceiling is the longer of the two\n"
        "times that the flops and the bytes need; the share, that time over the measured.\n\n",
        thread_count(), std::string(name_of(isa())).c_str(), fma / 1e9, copy / 1e9);
    std::printf(
        "| operation | f32 ms | share | f64 ms | share | bound by |\n|---|--:|--:|--:|--:|---|\n");
    for (const Row& r : rows_) {
        std::string bound = r.bound;
        std::printf("| %s |", r.name.c_str());
        for (const bool f64 : {false, true}) {
            const Measured& m = r.of[f64];
            if (m.seconds == 0) {
                std::printf(" | |");
                continue;
            }
            const auto [fma, copy] = m.ceilings;
            const double by_fma = m.flops / (f64 ? fma / 2 : fma), by_copy = m.bytes / copy;
            std::printf(" %.3g |", m.seconds * 1e3);
            if (m.flops + m.bytes > 0)
                std::printf(" %.0f %% |", 100 * std::max(by_fma, by_copy) / m.seconds);
            else
                std::printf(" |");
            if (bound.empty()) bound = by_fma > by_copy ? "fma" : by_copy > 0 ? "copy" : "";
        }
        std::printf(" %s |\n", bound.c_str());
    }
}

}  // namespace mercer::bench
