// Graph attention: two layers over a graph of Cora's size, forward and with gradients of all weights.
#include <vector>

#include "bench/cases.h"

namespace mercer::bench {
namespace {

/// `count` integers in [0, bound) of a linear congruence: the same graph as others measure.
Tensor integers(int64_t count, int64_t bound, uint64_t seed) {
    std::vector<int64_t> out;
    for (uint64_t x = seed; int64_t(out.size()) < count; out.push_back(int64_t(x >> 33) % bound))
        x = x * 6364136223846793005u + 1442695040888963407u;
    return Tensor::from(out);
}

constexpr int64_t nodes = 2708, edges = 10556, features = 1433, heads = 8, hidden = 8, classes = 7;

struct Problem {
    Graph graph = Graph::from_edges(
        concat({integers(edges, nodes, 1), Tensor::arange(nodes, DType::i64)}, 0),
        concat({integers(edges, nodes, 2), Tensor::arange(nodes, DType::i64)}, 0), nodes);
    Tensor x = Tensor::zeros({nodes, features}), y = integers(nodes, classes, 4);
    Tensor w1 = normal(1, {features, heads*hidden}) * 0.05,
           a1 = normal(2, {2, heads, hidden}) * 0.3,
           w2 = normal(3, {heads * hidden, classes}) * 0.1, a2 = normal(4, {2, 1, classes}) * 0.3;

    Problem() {
        float* at = x.mutable_data<float>();
        for (const int64_t i : integers(49216, nodes * features, 3).to_vector<int64_t>()) at[i] = 1;
    }

    /// a[0] meets targets, a[1] sources.
    Var layer(const Var& in, const Var& w, const Var& a) const {
        const auto part = [&](int64_t k) {
            return reshape(slice(a, 0, k, k + 1), {a.size(1), a.size(2)});
        };
        return graph_attention(reshape(matmul(in, w), {nodes, a.size(1), a.size(2)}), part(1),
                               part(0), graph);
    }
    Var loss(const Var& w1, const Var& a1, const Var& w2, const Var& a2) const {
        const Var h = elu(reshape(layer(x, w1, a1), {nodes, heads * hidden}));
        return cross_entropy(reshape(layer(h, w2, a2), {nodes, classes}), y);
    }
};

}  // namespace

void add_graph() {
    // Both products of layers; the first one's weights need another, the second's two.
    constexpr double first = 2.0 * nodes * features * heads * hidden,
                     second = 2.0 * nodes * heads * hidden * classes;
    add_case("graph/gat_cora_size/fwd", [](benchmark::State& state) {
        const Problem p;
        const auto loss = [&](const auto&... w) { return p.loss(w...).value(); };
        forward(state, loss, p.w1, p.a1, p.w2, p.a2);
        count_flops(state, first + second);
    });
    add_case("graph/gat_cora_size/fwdbwd", [](benchmark::State& state) {
        const Problem p;
        const auto loss = [&](const auto&... w) { return p.loss(w...); };
        forward_backward(state, loss, p.w1, p.a1, p.w2, p.a2);
        count_flops(state, 2 * first + 3 * second);
    });
}

}  // namespace mercer::bench
