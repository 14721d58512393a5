// mercer-bench: the cases of the peer benchmark, under the names that its compare.py looks for, and a table of all
// operations. `mercer-bench --missing` names the operations that have no case.
#include <cstdio>
#include <exception>
#include <string>
#include <vector>

#include "bench/cases.h"
#include "bench/ops/ops.h"
#include "bench/table.h"

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
        bench::add_small();
        bench::add_attention();
        bench::add_graph();
        bench::add_train();
        bench::add_ops();
#ifdef MERCER_CUDA
        bench::add_cuda();
#endif
        if (argc == 2 && std::string_view(argv[1]) == "--missing") {
            const std::vector<std::string> missing = bench::operations_without_case();
            for (const std::string& name : missing) std::printf("%s\n", name.c_str());
            return missing.empty() ? 0 : 1;
        }
        bool formatted = false;  // another form than ours was asked for
        for (int i = 1; i < argc; ++i)
            formatted |= std::string_view(argv[i]).starts_with("--benchmark_format");
        // Each case runs once before it is timed: the first time, the system clears the pages.
        std::string warm_up = "--benchmark_min_warmup_time=0.001";
        std::vector<char*> arguments(argv, argv + argc);
        arguments.insert(arguments.begin() + 1, warm_up.data());
        int count = int(arguments.size());
        arguments.push_back(nullptr);
        benchmark::Initialize(&count, arguments.data());
        if (benchmark::ReportUnrecognizedArguments(count, arguments.data())) return 2;
        bench::Table table;
        benchmark::RunSpecifiedBenchmarks(formatted ? nullptr : &table);
        benchmark::Shutdown();
    } catch (const std::exception& error) {
        std::fprintf(stderr, "mercer-bench: %s\n", error.what());
        return 1;
    }
}
