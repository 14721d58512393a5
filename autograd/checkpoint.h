// Memory for time: a piece of a network that keeps its inputs only, and is computed again when its
// gradient is asked for (Griewank and Walther 2000; Chen et al. 2016, algorithm 1).
//
//   for (const Layer& layer : layers) h = checkpoint(layer, h, layer.w, layer.b);
#pragma once

#include <concepts>
#include <functional>
#include <vector>

#include "autograd/var.h"

namespace mercer {

using CheckpointBody = std::function<std::vector<Var>(std::span<const Var>)>;

/// f(x), bit for bit, with gradients of every order bit for bit those of f recorded. f is called a
/// second time in a backward pass, and has to give the same values again: random numbers by key do.
/// Kept are x and what f captures. Every Var on a tape that f reads has to be among x: TapeError
/// otherwise. Cost: one more forward pass; memory: x, and during its own backward what f saves.
MERCER_API std::vector<Var> checkpoint(CheckpointBody f, std::span<const Var> x);

template <class F>
requires std::is_invocable_r_v<Var, const F&, std::span<const Var>> Var
checkpoint(F f, std::span<const Var> x) {
    return checkpoint(CheckpointBody([f = std::move(f)](std::span<const Var> v) {
                          return std::vector<Var>{f(v)};
                      }),
                      x)[0];
}

template <class F, class... X>
requires(sizeof...(X) > 0 && (std::convertible_to<const X&, Var> && ...)) Var
    checkpoint(F f, const X&... x) {
    const Var all[] = {Var(x)...};
    return checkpoint(
        [f = std::move(f)]<size_t... i>(std::index_sequence<i...>) {
            return [f](std::span<const Var> v) -> Var { return f(v[i]...); };
        }(std::index_sequence_for<X...>()),
        std::span<const Var>(all));
}

}  // namespace mercer
