// The data of the demo's report, in the shape that cli/report/README.md lays down.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "models/tasks/comparison.h"

namespace mercer::cli {

struct DemoRun {
    std::string command;
    uint64_t seed = 0;
    int epochs = 0;
    double seconds = 0;
};

nlohmann::json demo_report(const std::vector<Comparison>& results, const DemoRun& run);

/// With so many decimals; from 1e9 on and below 1e-4 with three figures and an exponent.
std::string number(double x, int decimals);

/// What the numbers say, one sentence or two for each series; nothing that they do not say.
std::vector<std::string> verdict(const Comparison& comparison);

}  // namespace mercer::cli
