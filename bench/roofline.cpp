#include "bench/roofline.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <memory>

#include "bench/cases.h"
#include "engine/cpu/dispatch.h"

namespace mercer {

using FmaChains = int (*)(int64_t rounds, float* from);
MERCER_DISPATCH(FmaChains, bench_fma)

namespace bench {
namespace {

// The chains on every thread; returns the flops done.
double fma_on_all_threads(int64_t rounds) {
    const int threads = thread_count();
    double flops = 0;
    parallel_for(threads, 1, [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) {
            float values[64] = {.01f, .02f, .03f, .04f, .05f, .06f,
                                .07f, .08f, .09f, .10f, .11f, .12f};
            const int each = bench_fma()(rounds, values);
            benchmark::DoNotOptimize(values);
            if (i == 0) flops = double(each) * double(rounds) * threads;
        }
    });
    return flops;
}

// The best of several runs: work(), which returns how much it did, per second.
template <class F>
double best_rate(F work) {
    double best = 0;
    for (int run = 0; run < 5; ++run) {
        const auto start = std::chrono::steady_clock::now();
        const double done = work();
        const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
        best = std::max(best, done / took.count());
    }
    return best;
}

}  // namespace

Ceilings measured_ceilings() {
    constexpr int64_t size = 128 << 20, piece = 1 << 20;
    static const std::unique_ptr<char[]> from(new char[size]()), to(new char[size]());
    const double fma = best_rate([] { return fma_on_all_threads(1 << 20); });
    return {fma, best_rate([&] {
                parallel_for(size / piece, size / piece / thread_count(),
                             [&](int64_t begin, int64_t end) {
                                 std::memcpy(to.get() + begin * piece, from.get() + begin * piece,
                                             size_t(end - begin) * piece);
                             });
                benchmark::DoNotOptimize(to[0]);
                return 2.0 * size;
            })};
}

void add_roofline() {
    add_case("roofline/fma", [](benchmark::State& state) {
        double flops = 0;
        for (auto _ : state) flops = fma_on_all_threads(1 << 20);
        count_flops(state, flops);
    });
}

}  // namespace bench
}  // namespace mercer
