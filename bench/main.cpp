// mercer-bench: the cases of the peer benchmark, under the names that its compare.py looks for.
#include <cstdio>
#include <exception>
#include <string>

#include "bench/cases.h"

int main(int argc, char** argv) {
    using namespace mercer;
    try {
        benchmark::AddCustomContext("mercer_isa", std::string(name_of(isa())));
        benchmark::AddCustomContext("mercer_threads", std::to_string(thread_count()));
        bench::add_roofline();
        bench::add_gemm();
        bench::add_pointwise();
        bench::add_rows();
        bench::add_overhead();
        bench::add_train();
        bench::add_ops();
        benchmark::Initialize(&argc, argv);
        if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
        benchmark::RunSpecifiedBenchmarks();
        benchmark::Shutdown();
    } catch (const std::exception& error) {
        std::fprintf(stderr, "mercer-bench: %s\n", error.what());
        return 1;
    }
}
