// Kernels of the pointwise formulas on operands in the device's memory, by the device's own clock: without the host's
// transfers. Only in builds with MERCER_CUDA, only where there is a device.
#include <cuda_runtime_api.h>

#include <algorithm>
#include <memory>
#include <span>

#include "bench/cases.h"
#include "engine/cpu/pointwise.h"
#include "engine/cuda/device_block.h"
#include "engine/cuda/formulas.h"
#include "engine/cuda/pointwise.h"
#include "engine/ops/pointwise/formula.h"
#include "engine/ops/registry.h"

namespace mercer::bench {
namespace {

using cuda::check;
using cuda::DeviceBlock;

struct Destroy {
    void operator()(cudaEvent_t e) const { cudaEventDestroy(e); }
};
using Event = std::unique_ptr<std::remove_pointer_t<cudaEvent_t>, Destroy>;
Event event() {
    cudaEvent_t e;
    check(cudaEventCreate(&e), "cudaEventCreate");
    return Event(e);
}

DeviceBlock copy_of(const Tensor& t) {
    const size_t bytes = size_t(t.count()) * size_of(t.dtype());
    DeviceBlock block(bytes);
    check(cudaMemcpy(block.data(), t.raw(), bytes, cudaMemcpyHostToDevice), "copy to the device");
    return block;
}

/// Seconds that the device takes for what `work` asks of the default stream.
template <class F>
double seconds(F work) {
    const Event begin = event(), end = event();
    check(cudaEventRecord(begin.get()), "cudaEventRecord");
    work();
    check(cudaGetLastError(), "kernel launch");
    check(cudaEventRecord(end.get()), "cudaEventRecord");
    check(cudaEventSynchronize(end.get()), "cudaEventSynchronize");
    float ms = 0;
    check(cudaEventElapsedTime(&ms, begin.get(), end.get()), "cudaEventElapsedTime");
    return double(ms) / 1000;
}

/// Bytes read and written in a second by the device's own copy, the median of several.
double copy_rate() {
    static const double rate = [] {
        const int64_t n = 128 << 20;
        const Tensor x = Tensor::ones({n});
        const DeviceBlock from = copy_of(x), to = copy_of(x);
        std::vector<double> times;
        for (int i = 0; i < 21; ++i)
            times.push_back(seconds([&] {
                check(cudaMemcpyAsync(to.data(), from.data(), size_t(n) * 4,
                                      cudaMemcpyDeviceToDevice),
                      "copy");
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
    const int64_t n = info.pointwise->kernels().cost > 200 ? 4 << 20 : 32 << 20;
    const std::string size = n == 4 << 20 ? "/4M" : "/32M";
    benchmark::RegisterBenchmark(
        ("cuda/" + std::string(info.name) + size + kernel.name + std::string(name_of(dtype)))
            .c_str(),
        [=, &info](benchmark::State& state) {
            const double low = info.domain == "beyond" ? 1.25 : 0.25;
            const Tensor x = uniform(Key{1, 1}, {n}, dtype, low, low + 0.5);
            cuda::FormulaArgs args{};
            args.n = n;
            std::vector<DeviceBlock> blocks;
            for (size_t k = 0; k < kernel.operands; ++k)
                if (kernel.read >> k & 1) args.in[k] = blocks.emplace_back(copy_of(x)).data();
            for (size_t k = 0; k < kernel.results; ++k)
                args.out[k] = blocks.emplace_back(copy_of(x)).data();
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
