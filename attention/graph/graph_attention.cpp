// graph_attention(): its operands' checks, and how the fused passes stand on a tape.
#include <cmath>

#include "attention/graph/check.h"
#include "attention/graph/fused.h"
#include "autograd/recompute.h"
#include "engine/error.h"
#include "engine/ops/require.h"
#include "engine/shown.h"

namespace mercer {
namespace {

constexpr const char* name = "graph_attention";

struct Kept {
    Graph graph;
    GraphAttentionOptions options;
};

// The derivative by values is fused; that on the tape is the reference form's.
void fused_vjp(Vjp<Tensor>& c) {
    const Kept& kept = c.attrs<Kept>();
    unsigned wanted = 0;
    for (int i = 0; i < 3; ++i) wanted |= unsigned(c.wants(i)) << i;
    auto d = attention::graph_backward(c.in(0), c.in(1), c.in(2),
                                       {Tensor(), c.out_value(1), c.out_value(2)}, c.g(),
                                       kept.graph, kept.options, wanted);
    for (int i = 0; i < 3; ++i)
        if (c.wants(i)) c.give(i, std::move(d[size_t(i)]));
}
void reference_vjp(Vjp<Var>& c) {
    const Kept& kept = c.attrs<Kept>();
    recompute(c, [&](std::span<const Var> x) {
        return std::vector<Var>{
            graph_attention_reference(x[0], x[1], x[2], kept.graph, kept.options)};
    });
}
constexpr Rule rule{name, fused_vjp, reference_vjp};

}  // namespace

void attention::check_graph_attention(const Var& h, const Var& attention_source,
                                      const Var& attention_target, const Graph& graph,
                                      const GraphAttentionOptions& options) {
    if (h.rank() != 3 || h.size(0) != graph.nodes())
        throw ShapeError(name, "h must be (nodes, heads, width) with ", graph.nodes(),
                         " nodes, got ", h.shape());
    const std::pair<const char*, const Var&> rows[] = {{"attention_source", attention_source},
                                                       {"attention_target", attention_target}};
    for (const auto& [what, a] : rows) {
        if (!(a.shape() == Shape{h.size(1), h.size(2)}))
            throw ShapeError(name, what, " ", a.shape(), " must be (heads, width) of h ",
                             h.shape());
        require_floating_pair(name, h.value(), a.value(), "h", what);
    }
    if (!std::isfinite(options.slope))
        throw ValueError(name, "slope must be a finite number, got ", shown(options.slope));
    if (const double rate = options.dropout.rate; !(rate >= 0 && rate < 1))
        throw ValueError(name, "dropout.rate must be in [0, 1), got ", shown(rate));
}

Var graph_attention(const Var& h, const Var& attention_source, const Var& attention_target,
                    const Graph& graph, const GraphAttentionOptions& options) {
    attention::check_graph_attention(h, attention_source, attention_target, graph, options);
    const attention::GraphForward r = attention::graph_forward(
        h.value(), attention_source.value(), attention_target.value(), graph, options);
    instruments::settle();
    const Var* const inputs[] = {&h, &attention_source, &attention_target};
    Tape* tape = Tape::of(name, inputs);
    if (!tape) return Var(r.out);
    const auto kept = std::make_shared<const Kept>(Kept{graph, options});
    tape->own(kept);
    const Tensor outputs[] = {r.out, r.scores, r.rows};
    return tape->append(
        rule, kept.get(), inputs, outputs,
        input_bit(0) | input_bit(1) | input_bit(2) | output_bit_of(1) | output_bit_of(2))[0];
}

}  // namespace mercer
