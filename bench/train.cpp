// Whole training steps: forward, backward, Adam.
#include <array>
#include <cmath>

#include "bench/cases.h"

namespace mercer::bench {
namespace {

constexpr int steps = 20;

// A tanh network 16-64-64-1 on a batch of 32, mean squared error.
void mlp(benchmark::State& state) {
    constexpr int64_t batch = 32;
    constexpr std::array<int64_t, 4> width{16, 64, 64, 1};
    constexpr size_t layers = width.size() - 1;
    std::array<Tensor, 2 * layers> parameters;  // W₀, b₀, W₁, …
    std::array<Tensor*, 2 * layers> addresses;
    for (size_t k = 0; k < 2 * layers; ++k) {
        const int64_t in = width[k / 2], out = width[k / 2 + 1];
        const double bound = 1 / std::sqrt(double(in));
        parameters[k] =
            uniform(Key{1, k}, k % 2 ? Shape{out} : Shape{in, out}, DType::f32, -bound, bound);
        addresses[k] = &parameters[k];
    }
    const Tensor x = normal(10, {batch, width.front()}), target = normal(11, {batch, width.back()});
    Adam adam({.lr = 1e-3});
    Tape tape;
    for (auto _ : state) {
        for (int step = 0; step < steps; ++step) {
            tape.reset();
            std::array<Var, 2 * layers> p;
            for (size_t k = 0; k < p.size(); ++k) p[k] = tape.watch(parameters[k]);
            Var h = x;
            for (size_t layer = 0; layer < layers; ++layer) {
                h = matmul(h, p[2 * layer]) + p[2 * layer + 1];
                if (layer + 1 < layers) h = tanh(h);
            }
            const Var loss = mean(square(h - target));
            adam.step(addresses, tape.gradient(loss, std::span<const Var>(p), GradientOptions{}));
        }
        benchmark::ClobberMemory();
    }
    state.SetItemsProcessed(state.iterations() * steps);
}

}  // namespace

void add_train() { add_case("train/mlp_64_B32", mlp); }

}  // namespace mercer::bench
