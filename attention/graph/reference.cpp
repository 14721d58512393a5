// Graph attention in differentiable functions, and what it is made of (spec of graph_attention.h).
#include "attention/graph/check.h"
#include "autograd/functions.h"

namespace mercer {
namespace {

// Which nodes have a row of edges: bool (n, 1, 1).
Tensor linked(const Tensor& offsets) {
    const int64_t n = offsets.count() - 1;
    return reshape(not_equal(slice(offsets, 0, 1, n + 1), slice(offsets, 0, 0, n)), {n, 1, 1});
}

// h where the node has edges, else 0, so that what nobody sees does not even multiply.
Var seen(const Var& h, const Tensor& offsets) {
    return where(linked(offsets), h, Var(Tensor::zeros({}, h.dtype())));
}

struct Nodes {
    Var as_source, as_target;

    Nodes(const Var& h, const Graph& graph)
        : as_source(seen(h, graph.by_source_offsets())), as_target(seen(h, graph.offsets())) {}
};

// Each node's number for each edge that it is the source (target) of.
Var from_sources(const Var& x, const Graph& g) { return index_select(x, g.sources(), 0); }
Var from_targets(const Var& x, const Graph& g) { return index_select(x, g.targets(), 0); }

Tensor branch(const Var& u, double slope) {
    const auto number = [&](double x) { return Tensor::scalar(x, u.dtype()); };
    return where(greater_equal(u, 0.0), number(1), number(slope));
}

Var linear_scores(const Nodes& x, const Var& attention_source, const Var& attention_target,
                  const Graph& graph) {
    return from_targets(sum(x.as_target * attention_target, {-1}), graph) +
           from_sources(sum(x.as_source * attention_source, {-1}), graph);
}

Var weights(const Nodes& x, const Var& attention_source, const Var& attention_target,
            const Graph& graph, const GraphAttentionOptions& options) {
    const Var u = linear_scores(x, attention_source, attention_target, graph);
    const Var alpha = segment_softmax(u * branch(u, options.slope), graph.offsets());
    return options.dropout.rate > 0 ? dropout(alpha, options.dropout.rate, options.dropout.key)
                                    : alpha;
}

}  // namespace

Var graph_attention_weights(const Var& h, const Var& attention_source, const Var& attention_target,
                            const Graph& graph, const GraphAttentionOptions& options) {
    const CalledAs called("graph_attention_weights");
    attention::check_graph_attention(h, attention_source, attention_target, graph, options);
    return weights(Nodes(h, graph), attention_source, attention_target, graph, options);
}

Var graph_attention_reference(const Var& h, const Var& attention_source,
                              const Var& attention_target, const Graph& graph,
                              const GraphAttentionOptions& options) {
    const CalledAs called("graph_attention_reference");
    attention::check_graph_attention(h, attention_source, attention_target, graph, options);
    const Nodes x(h, graph);
    const Var alpha = weights(x, attention_source, attention_target, graph, options);
    return segment_sum(
        reshape(alpha, {graph.edges(), h.size(1), 1}) * from_sources(x.as_source, graph),
        graph.offsets());
}

GraphDecomposition decompose_graph_attention(const Var& h, const Var& attention_source,
                                             const Var& attention_target, const Graph& graph,
                                             const GraphAttentionOptions& options) {
    const CalledAs called("decompose_graph_attention");
    attention::check_graph_attention(h, attention_source, attention_target, graph, options);
    const Nodes x(h, graph);
    const Tensor c =
        branch(linear_scores(x, attention_source, attention_target, graph), options.slope);
    const Tensor positive = equal(c, 1.0);
    const auto norm2 = [](const Var& v) { return sum(square(v), {-1}); };
    // −‖x − c·own‖²/2 − c²‖other‖²/2 for a node: the half of c·a that meets x, and the one that meets 0.
    const auto similarity = [&](const Var& nodes, const Var& own, const Var& other, double value) {
        return (norm2(nodes - own * value) + norm2(other) * (value * value)) * -0.5;
    };
    const auto select = [&](auto gather, const Var& nodes, const Var& own, const Var& other) {
        return where(positive, gather(similarity(nodes, own, other, 1), graph),
                     gather(similarity(nodes, own, other, options.slope), graph));
    };
    const Var both = norm2(attention_source) + norm2(attention_target);
    return {c, select(from_targets, x.as_target, attention_target, attention_source),
            select(from_sources, x.as_source, attention_source, attention_target),
            (both * 2.0 * square(c) + from_targets(norm2(x.as_target), graph) +
             from_sources(norm2(x.as_source), graph)) *
                0.5};
}

}  // namespace mercer
