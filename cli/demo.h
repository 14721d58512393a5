// `mercer demo`: trains Transformers with two attention kernels to fill the gaps of a series,
// compares them with smoothing and least squares, and writes an HTML report.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

namespace mercer::cli {

struct DemoOptions {
    std::filesystem::path out = "mercer-demo.html";
    uint64_t seed = 0;
    int epochs = 1000;
    std::string series = "both";  // co2, airline or both
    std::filesystem::path data;   // when given: this series instead
    std::filesystem::path trace;  // when given: where the profile goes
    bool quiet = false;
    std::string command;  // as typed, for the report
};

/// Prints the table of test errors and, last, the report's path.
void run_demo(const DemoOptions& options);

}  // namespace mercer::cli
