// Prints the cases ops/... as a Markdown table with their share of the machine's ceiling, measured before and after
// each of them, for its neighbours may change it from minute to minute; others as usual.
#pragma once

#include <benchmark/benchmark.h>

#include <string>
#include <vector>

#include "bench/roofline.h"

namespace mercer::bench {

class Table : public benchmark::ConsoleReporter {
public:
    Table() : ConsoleReporter(OO_None) {}
    bool ReportContext(const Context& context) override;
    void ReportRuns(const std::vector<Run>& runs) override;
    void Finalize() override;

private:
    struct Measured {
        double seconds, flops, bytes;
        Ceilings ceilings;
    };
    struct Row {
        std::string name, bound;
        Measured of[2];  // f32, f64
    };
    std::vector<Row> rows_;
    Ceilings before_{};
};

}  // namespace mercer::bench
