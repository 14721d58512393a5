#include "bench/table.h"

#include <algorithm>
#include <cstdio>

#include "bench/cases.h"
#include "bench/roofline.h"

namespace mercer::bench {

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
        rows_.push_back({name.substr(0, blank), name.substr(blank + 1), run.report_label, seconds,
                         amount("flop/s"), amount("bytes_per_second")});
        std::fprintf(stderr, "%s\n", name.c_str());
    }
}

void Table::Finalize() {
    if (rows_.empty()) return;
    const double fma = measured_fma(), copy = measured_copy();
    std::printf(
        "%d threads, %s: %.0f GFLOP/s by fma (f32), %.1f GB/s by copying. The ceiling is the "
        "longer of the two\n"
        "times that the flops and the bytes need; the share, that time over the measured.\n\n",
        thread_count(), std::string(name_of(isa())).c_str(), fma / 1e9, copy / 1e9);
    std::printf(
        "| operation | dtype | ms | GFLOP/s | GB/s | share of ceiling | bound by "
        "|\n|---|---|--:|--:|--:|--:|---|\n");
    for (const Row& r : rows_) {
        const double by_fma = r.flops / (r.dtype == "f64" ? fma / 2 : fma),
                     by_copy = r.bytes / copy;
        char share[16] = "";
        if (r.flops + r.bytes > 0)
            std::snprintf(share, sizeof share, "%.0f %%",
                          100 * std::max(by_fma, by_copy) / r.seconds);
        const auto rate = [&](double amount) {
            char text[16] = "";
            if (amount > 0) std::snprintf(text, sizeof text, "%.1f", amount / r.seconds / 1e9);
            return std::string(text);
        };
        const char* bound = !r.bound.empty()   ? r.bound.c_str()
                            : by_fma > by_copy ? "fma"
                            : by_copy > 0      ? "copy"
                                               : "";
        std::printf("| %s | %s | %.3g | %s | %s | %s | %s |\n", r.name.c_str(), r.dtype.c_str(),
                    r.seconds * 1e3, rate(r.flops).c_str(), rate(r.bytes).c_str(), share, bound);
    }
}

}  // namespace mercer::bench
