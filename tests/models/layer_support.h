// Layers of attention in f64 for tests.
#pragma once

#include <doctest/doctest.h>

#include <cmath>
#include <string>
#include <vector>

#include "autograd/functions.h"
#include "autograd/gradcheck.h"
#include "engine/error.h"
#include "models/layers/attention.h"

namespace mercer::test {

using Scheme = PositionOptions::Scheme;
inline constexpr Scheme schemes[] = {Scheme::none,           Scheme::sinusoidal, Scheme::learned,
                                     Scheme::transformer_xl, Scheme::lookup,     Scheme::skew,
                                     Scheme::symmetric,      Scheme::rotary,     Scheme::alibi};

inline Tensor sample(uint64_t stream, const Shape& shape) {
    return randn(Key{23, stream}, shape, DType::f64);
}
inline double largest(const Tensor& t) { return t.count() ? max(abs(t)).item<double>() : 0; }
inline double distance(const Var& a, const Var& b) {
    REQUIRE(a.shape() == b.shape());
    return largest((a - b).value());
}

// A layer in f64, with parameters away from their small beginnings.
struct Wide {
    Attention layer;
    Parameters all;

    Wide(int64_t width, int64_t heads, SmootherOptions smoother, AttentionOptions options = {},
         uint64_t seed = 1)
        : layer(width, heads, std::move(smoother), Key{seed}, std::move(options)) {
        layer.collect(all, "");
        all.cast(DType::f64);
        for (size_t i = 0; i < all.size(); ++i)
            if (all.name(i).starts_with("position.") && all.name(i) != "position.weight")
                *all.tensors()[i] = *all.tensors()[i] * 20.0;
    }
    Wide(const Wide&) = delete;  // `all` points into it
    Wide& operator=(const Wide&) = delete;
};

inline AttentionOptions placed(Scheme scheme) {
    return {.position = {.scheme = scheme, .length = 16, .clip = 2, .values = true}};
}
inline AttentionOptions with_memory_of(Scheme scheme) {
    AttentionOptions o = placed(scheme);
    o.filter = [](int64_t queries, int64_t keys) { return xl_memory(keys - queries); };
    return o;
}

// Derivatives in states and all parameters.
inline void check_layer(const std::string& name, Wide& wide, const Tensor& x, const Tensor& s) {
    std::vector<Tensor> inputs{x, s};
    for (const Tensor* t : wide.all.tensors()) inputs.push_back(t->clone());
    const GradcheckReport r = gradcheck(
        [&](std::span<const Var> in) {
            return wide.layer.forward(Binding(wide.all, in.subspan(2)), in[0], in[1]);
        },
        inputs, {.step = 5e-4});
    CHECK_MESSAGE(r.ok, name, ": ", r.failure);
}

}  // namespace mercer::test
