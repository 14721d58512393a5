// Kernels of the pointwise formulas on operands in the device's memory, by the device's own clock: without the host's
// transfers. Only in builds with MERCER_CUDA, only where there is a device.
#include <cuda_runtime_api.h>

#include <algorithm>
#include <memory>
#include <span>
#include <stdexcept>

#include "bench/cases.h"
#include "engine/cuda/formulas.h"
#include "engine/cuda/pointwise.h"
#include "engine/ops/pointwise/formula.h"
#include "engine/ops/registry.h"

namespace mercer::bench {
namespace {

void check(cudaError_t status) {
    if (status != cudaSuccess) throw std::runtime_error(cudaGetErrorString(status));
}

struct Release {
    void operator()(void* p) const { cudaFree(p); }
    void operator()(cudaEvent_t e) const { cudaEventDestroy(e); }
};
using Block = std::unique_ptr<void, Release>;
using Event = std::unique_ptr<std::remove_pointer_t<cudaEvent_t>, Release>;

Block copy_of(const Tensor& t) {
    const size_t bytes = size_t(t.count()) * size_of(t.dtype());
    void* p = nullptr;
    check(cudaMalloc(&p, bytes));
    Block block(p);
    check(cudaMemcpy(p, t.raw(), bytes, cudaMemcpyHostToDevice));
    return block;
}

/// Seconds that the device takes for what `work` asks of the default stream.
template <class F>
double seconds(F work) {
    cudaEvent_t e[2];
    for (cudaEvent_t& event : e) check(cudaEventCreate(&event));
    const Event begin(e[0]), end(e[1]);
    check(cudaEventRecord(e[0]));
    work();
    check(cudaGetLastError());
    check(cudaEventRecord(e[1]));
    check(cudaEventSynchronize(e[1]));
    float ms = 0;
    check(cudaEventElapsedTime(&ms, e[0], e[1]));
    return double(ms) / 1000;
}

/// Bytes read and written in a second by the device's own copy, the median of several.
double copy_rate() {
    static const double rate = [] {
        const int64_t n = 128 << 20;
        const Tensor x = Tensor::ones({n});
        const Block from = copy_of(x), to = copy_of(x);
        std::vector<double> times;
        for (int i = 0; i < 21; ++i)
            times.push_back(seconds([&] {
                check(
                    cudaMemcpyAsync(to.get(), from.get(), size_t(n) * 4, cudaMemcpyDeviceToDevice));
            }));
        std::sort(times.begin(), times.end());
        return 8.0 * double(n) / times[10];
    }();
    return rate;
}

struct Kernel {
    const char* name;
    cuda::Launch launch;
    size_t operands, results;
    unsigned read;  // a bit for each operand that the formula needs
};

void add_kernel(const OperationInfo& info, const Kernel& kernel, DType dtype) {
    const int64_t n = pointwise_cost(*info.pointwise) > 200 ? 4 << 20 : 32 << 20;
    const std::string size = n == 4 << 20 ? "/4M" : "/32M";
    benchmark::RegisterBenchmark(
        ("cuda/" + std::string(info.name) + size + kernel.name + std::string(name_of(dtype)))
            .c_str(),
        [=, &info](benchmark::State& state) {
            const double low = info.domain == "beyond" ? 1.25 : 0.25;
            const Tensor x = uniform(Key{1, 1}, {n}, dtype, low, low + 0.5);
            cuda::FormulaArgs args{};
            args.n = n;
            std::vector<Block> blocks;
            for (size_t k = 0; k < kernel.operands; ++k)
                if (kernel.read >> k & 1) args.in[k] = blocks.emplace_back(copy_of(x)).get();
            for (size_t k = 0; k < kernel.results; ++k)
                args.out[k] = blocks.emplace_back(copy_of(x)).get();
            const int64_t bytes = n * int64_t(size_of(dtype) * blocks.size());
            kernel.launch(args);
            double spent = 0;
            for (auto _ : state) {
                const double time = seconds([&] { kernel.launch(args); });
                state.SetIterationTime(time);
                spent += time;
            }
            count_bytes(state, bytes);
            state.counters["of copy %"] =
                100 * double(bytes) * double(state.iterations()) / spent / copy_rate();
        })
        ->UseManualTime()
        ->Unit(benchmark::kMillisecond);
}

}  // namespace

// Bytes: every operand that the formula needs once, every result once.
void add_cuda() {
    if (cuda::device_count() == 0) return;
    int count;
    const cuda::Formula* list = cuda::formulas(&count);
    for (const OperationInfo& info : operations())
        for (const cuda::Formula& f : std::span(list, size_t(count))) {
            if (f.name != info.name) continue;
            const auto n = size_t(f.arity);
            const unsigned all = (1u << n) - 1, needs = pointwise_needs(*info.pointwise),
                           saved = 1 | (needs & all) << 1 | (needs & needs_output ? 2u << n : 0);
            for (const int f64 : {0, 1})
                for (const Kernel& kernel :
                     {Kernel{" fwd ", f.forward[f64], n, 1, all},
                      Kernel{" bwd ", f.backward[f64], n + 2, n, saved},
                      Kernel{" second ", f.second[f64], 2 * n + 2, n + 1, saved | all << (n + 2)}})
                    add_kernel(info, kernel, f64 ? DType::f64 : DType::f32);
        }
}

}  // namespace mercer::bench
