// All that a case gives, for comparisons.
#pragma once

#include "autograd/tape.h"
#include "engine/random.h"
#include "tests/cases.h"

namespace cases {

/// Value, first gradients by fused kernels and as recorded, and gradients of a gradient.
inline std::vector<Tensor> results(const Case& c, std::span<const Tensor> inputs,
                                   bool second_order) {
    mercer::Tape tape;
    std::vector<Var> x;
    for (const Tensor& t : inputs) x.push_back(tape.watch(t));
    const Var y = c.f(x);
    std::vector<Tensor> out{y.value()};
    if (y.is_constant()) return out;
    const Tensor u = mercer::randn(mercer::Key{7, 7}, y.shape(), y.dtype());
    for (const Tensor& t : tape.gradient(y, x, {.retain = true, .cotangents = {u}}))
        out.push_back(t);
    const std::vector<Var> g = tape.gradient(y, x, mercer::CreateGraph{{u}});
    for (const Var& v : g) out.push_back(v.value());
    if (!second_order || g[0].is_constant()) return out;
    for (const Tensor& t : tape.gradient(
             g[0], x,
             {.cotangents = {mercer::randn(mercer::Key{8, 8}, g[0].shape(), g[0].dtype())}}))
        out.push_back(t);
    return out;
}

}  // namespace cases
