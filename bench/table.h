// Prints the cases ops/... as a Markdown table with their share of the machine's ceiling; others as usual.
#pragma once

#include <benchmark/benchmark.h>

#include <string>
#include <vector>

namespace mercer::bench {

class Table : public benchmark::ConsoleReporter {
public:
    Table() : ConsoleReporter(OO_None) {}
    void ReportRuns(const std::vector<Run>& runs) override;
    /// Measures the ceilings and prints.
    void Finalize() override;

private:
    struct Measured {
        double seconds, flops, bytes;
    };
    struct Row {
        std::string name, bound;
        Measured of[2];  // f32, f64
    };
    std::vector<Row> rows_;
};

}  // namespace mercer::bench
