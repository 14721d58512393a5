// The smoother: kernels and lengths, forward and with gradients of queries, keys and values.
#include <type_traits>

#include "bench/cases.h"

namespace mercer::bench {
namespace {

constexpr int64_t heads = 8, width = 64;

void add(const std::string& name, int64_t length, const SmootherOptions& options, double share) {
    const int64_t batch = length > 1024 ? 1 : 4;
    const Shape shape{batch, heads, length, width};
    // Two products of `length` × `length` × `width` for each head; backward five more.
    const double flops = 4.0 * share * double(batch * heads * length * length * width);
    const auto smooth = [options](const auto& q, const auto& k, const auto& v) {
        const Var out = attend(q, k, v, options);
        if constexpr (std::is_same_v<std::remove_cvref_t<decltype(q)>, Tensor>)
            return out.value();
        else
            return out;
    };
    add_case("attention/" + name + "/fwd", [=](benchmark::State& state) {
        forward(state, smooth, normal(1, shape), normal(2, shape), normal(3, shape));
        count_flops(state, flops);
    });
    add_case("attention/" + name + "/fwdbwd", [=](benchmark::State& state) {
        forward_backward(state, smooth, normal(1, shape), normal(2, shape), normal(3, shape));
        count_flops(state, 3.5 * flops);
    });
}

/// (q·k + q·a_{j − i})/√d, a shared by heads (Shaw et al. 2018).
void add_shaw(int64_t length) {
    const Shape shape{4, heads, length, width}, table{2 * length - 1, width};
    const auto smooth = [](const auto& q, const auto& k, const auto& v, const auto& a) {
        const Var out = attend(q, k, v, {.position = Lookup{.table = a}});
        if constexpr (std::is_same_v<std::remove_cvref_t<decltype(q)>, Tensor>)
            return out.value();
        else
            return out;
    };
    add_case("attention/shaw_T512/fwd", [=](benchmark::State& state) {
        forward(state, smooth, normal(1, shape), normal(2, shape), normal(3, shape),
                normal(4, table));
    });
    add_case("attention/shaw_T512/fwdbwd", [=](benchmark::State& state) {
        forward_backward(state, smooth, normal(1, shape), normal(2, shape), normal(3, shape),
                         normal(4, table));
    });
}

}  // namespace

void add_attention() {
    add("full_T512", 512, {}, 1);
    add("full_T4096", 4096, {}, 1);
    add("causal_T512", 512, {.filter = causal()}, 0.5);
    add("causal_T4096", 4096, {.filter = causal()}, 0.5);
    add("rbf_T512", 512, {.kernel = rbf()}, 1);
    add("polynomial2_T512", 512, {.kernel = polynomial(2)}, 1);
    add_shaw(512);
}

}  // namespace mercer::bench
