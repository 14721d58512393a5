// The FMA rate of the instruction set in use: what the other cases can be read against.
#include "bench/cases.h"
#include "engine/cpu/dispatch.h"

namespace mercer {

using FmaChains = int (*)(int64_t rounds, float* from);
MERCER_DISPATCH(FmaChains, bench_fma)

void bench::add_roofline() {
    add_case("roofline/fma", [](benchmark::State& state) {
        constexpr int64_t rounds = 1 << 20;
        const int threads = thread_count();
        double flops = 0;
        for (auto _ : state)
            parallel_for(threads, 1, [&](int64_t begin, int64_t end) {
                for (int64_t i = begin; i < end; ++i) {
                    float values[64] = {.01f, .02f, .03f, .04f, .05f, .06f,
                                        .07f, .08f, .09f, .10f, .11f, .12f};
                    const int each = bench_fma()(rounds, values);
                    benchmark::DoNotOptimize(values);
                    if (i == 0) flops = double(each) * double(rounds) * threads;
                }
            });
        count_flops(state, flops);
    });
}

}  // namespace mercer
