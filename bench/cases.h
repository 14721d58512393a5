// The peer benchmark's cases. Each family registers its own; a case makes its inputs, then times
// its loop.
//
// fwd works on tensors, without a tape; fwdbwd records anew in every iteration and walks back from
// a fixed cotangent. Outputs are fresh each time; the allocator and the tape may reuse memory.
#pragma once

#include <benchmark/benchmark.h>

#include <array>
#include <span>
#include <string>
#include <tuple>
#include <utility>

#include "mercer/mercer.h"

namespace mercer::bench {

void add_roofline();
void add_gemm();
void add_pointwise();
void add_rows();
void add_overhead();
void add_small();
void add_attention();
void add_graph();
void add_train();
void add_ops();
void add_cuda();  // where the build has MERCER_CUDA

/// A case called `name`, timed by the wall clock.
template <class F>
auto* add_case(const std::string& name, F run) {
    return benchmark::RegisterBenchmark(name.c_str(), std::move(run))
        ->UseRealTime()
        ->Unit(benchmark::kMillisecond);
}

/// Standard normal values that depend on `stream` only.
inline Tensor normal(uint64_t stream, const Shape& shape) { return randn(Key{1, stream}, shape); }

/// Shows the rate of `flops` floating-point operations for each iteration.
inline void count_flops(benchmark::State& state, double flops) {
    state.counters["flop/s"] =
        benchmark::Counter(flops, benchmark::Counter::kIsIterationInvariantRate);
}
/// Shows the rate of `bytes` read and written for each iteration.
inline void count_bytes(benchmark::State& state, int64_t bytes) {
    state.SetBytesProcessed(state.iterations() * bytes);
}

/// The loop of a fwd case: f(leaves…).
template <class F, class... Leaf>
void forward(benchmark::State& state, F f, const Leaf&... leaf) {
    for (auto _ : state) {
        Tensor y = f(leaf...);
        benchmark::DoNotOptimize(y);
        benchmark::ClobberMemory();
    }
}

/// The loop of a fwdbwd case: y = f(leaves…) on a tape, then its gradients, one for each leaf.
template <class F, class... Leaf>
void forward_backward(benchmark::State& state, F f, const Leaf&... leaf) {
    const GradientOptions options{.cotangents = {normal(99, f(leaf...).shape())}};
    Tape tape;
    for (auto _ : state) {
        tape.reset();
        const std::array<Var, sizeof...(Leaf)> x{tape.watch(leaf)...};
        const Var y = std::apply(f, x);
        auto gradients = tape.gradient(y, std::span<const Var>(x), options);
        benchmark::DoNotOptimize(gradients);
        benchmark::ClobberMemory();
    }
}

}  // namespace mercer::bench
