#include "models/layers/graph_attention.h"

#include <cmath>

#include "autograd/functions.h"
#include "engine/error.h"

namespace mercer {
namespace {

Tensor glorot(Key key, int64_t rows, int64_t columns) {
    const double bound = std::sqrt(6 / double(rows + columns));
    return uniform(key, {rows, columns}, DType::f32, -bound, bound);
}

}  // namespace

GraphAttention::GraphAttention(int64_t in, int64_t width, const GraphLayerOptions& o, Key key)
    : options(o) {
    if (in < 1 || width < 1 || o.heads < 1)
        throw ValueError("graph_attention", "in, width and heads must be 1 or more, got ", in, ", ",
                         width, " and ", o.heads);
    weight = glorot(key.split(0), in, o.heads * width);
    source = glorot(key.split(1), o.heads, width);
    target = glorot(key.split(2), o.heads, width);
    if (o.bias) bias = Tensor::zeros({out()});
    if (o.residual && in != out()) residual = glorot(key.split(3), in, out());
}

int64_t GraphAttention::out() const { return options.average ? source.size(1) : source.count(); }

Var GraphAttention::forward(const Binding& at, const Var& x, const Graph& graph,
                            const WeightDropout& dropout) const {
    const Var h = reshape(matmul(x, at(weight)), {x.size(0), source.size(0), source.size(1)});
    const Var heads = graph_attention(h, at(source), at(target),
                                      options.self_loops ? graph.with_self_loops() : graph,
                                      {.slope = options.slope, .dropout = dropout});
    Var y = options.average ? mean(heads, {1}) : reshape(heads, {x.size(0), out()});
    if (options.residual) y = y + (residual.defined() ? matmul(x, at(residual)) : x);
    return options.bias ? y + at(bias) : y;
}

void GraphAttention::collect(Parameters& parameters, const std::string& prefix) {
    parameters.add(prefix + "weight", weight);
    parameters.add(prefix + "source", source);
    parameters.add(prefix + "target", target);
    if (bias.defined()) parameters.add(prefix + "bias", bias);
    if (residual.defined()) parameters.add(prefix + "residual", residual);
}

}  // namespace mercer
