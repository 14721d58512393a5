// C = A·B into a C that exists.
#include "bench/cases.h"

namespace mercer::bench {
namespace {

void product(benchmark::State& state, const Shape& a_shape, const Shape& b_shape) {
    const Tensor a = normal(1, a_shape), b = normal(2, b_shape);
    Tensor c = matmul(a, b);
    for (auto _ : state) {
        matmul_into(c, a, b);
        benchmark::ClobberMemory();
    }
    count_flops(state, 2.0 * double(c.count()) * double(a.size(-1)));
}

}  // namespace

void add_gemm() {
    for (int64_t n : {64, 256, 1024, 2048})
        add_case("gemm/" + std::to_string(n), [n](benchmark::State& state) {
            product(state, {n, n}, {n, n});
        });
    add_case("gemm/batched_96x256x64x256", [](benchmark::State& state) {
        product(state, {96, 256, 64}, {96, 64, 256});
    });
}

}  // namespace mercer::bench
