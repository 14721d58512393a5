// Elementwise work on 4 Mi values: a built-in function, and a chain as one map.
#include "bench/cases.h"

const mercer::PointwiseOp& bench_chain();  // formulas.cpp

namespace mercer::bench {
namespace {

constexpr int64_t n = 4 << 20, bytes = n * int64_t(sizeof(float));

constexpr auto gelu_of = [](const auto& x) { return gelu(x); };
constexpr auto chain_of = [](const auto& a, const auto& b, const auto& c) {
    return map(bench_chain(), a, b, c);
};

}  // namespace

// Bytes: each leaf and the result once; backward, the cotangent, the leaves again, their gradients.
void add_pointwise() {
    add_case("pointwise/gelu_4M/fwd", [](benchmark::State& state) {
        forward(state, gelu_of, normal(1, {n}));
        count_bytes(state, 2 * bytes);
    });
    add_case("pointwise/gelu_4M/fwdbwd", [](benchmark::State& state) {
        forward_backward(state, gelu_of, normal(1, {n}));
        count_bytes(state, 5 * bytes);
    });
    add_case("pointwise/chain_4M/fwd", [](benchmark::State& state) {
        forward(state, chain_of, normal(1, {n}), normal(2, {n}), normal(3, {n}));
        count_bytes(state, 4 * bytes);
    });
    add_case("pointwise/chain_4M/fwdbwd", [](benchmark::State& state) {
        forward_backward(state, chain_of, normal(1, {n}), normal(2, {n}), normal(3, {n}));
        count_bytes(state, 11 * bytes);
    });
}

}  // namespace mercer::bench
