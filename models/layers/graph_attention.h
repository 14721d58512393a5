// A layer of graph attention (Veličković et al. 2018, eq. 1–6):
//
//   h = x W,   y = [Att_1(h) … Att_H(h)]  or  1/H Σ_h Att_h(h),   then + x or x R, and + b
//
// where Att sums over the edges into a node (attention/graph/graph_attention.h). What follows, an ELU in
// the paper, is the caller's.
#pragma once

#include "attention/graph/graph_attention.h"
#include "models/layers/parameters.h"

namespace mercer {

struct GraphLayerOptions {
    int64_t heads = 1;
    bool average = false;    // of heads; else they stand one after the other
    bool self_loops = true;  // a node sees itself, whatever the graph says
    bool residual = false;   // + x, or x R where the widths differ
    bool bias = true;
    double slope = 0.2;
};

struct MERCER_API GraphAttention {
    GraphLayerOptions options;
    Tensor weight;          // [in, heads·width]
    Tensor source, target;  // [heads, width]: a_source, a_target
    Tensor bias;            // [out], zeros; undefined without
    Tensor residual;        // R [in, out]; undefined where not needed

    /// `width` of each head: out = heads·width, or width of averaged heads. The others uniform on
    /// ±√(6/(in + heads·width)), ±√(6/(heads + width)), ±√(6/(in + out)) (Glorot and Bengio 2010).
    /// ValueError unless in, width and heads are 1 or more.
    GraphAttention(int64_t in, int64_t width, const GraphLayerOptions& options, Key key);

    int64_t out() const;
    /// [nodes, in] to [nodes, out]; weights dropped by edge and head.
    Var forward(const Binding& at, const Var& x, const Graph& graph,
                const WeightDropout& dropout = {}) const;
    void collect(Parameters& parameters, const std::string& prefix);
};

}  // namespace mercer
