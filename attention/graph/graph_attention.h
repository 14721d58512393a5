// Graph attention (Veličković et al. 2018, eq. 1–4): the kernel smoother with a graph as its
// filter): for each node i and head h, over the edges j → i,
//
//   e_ij = LeakyReLU(a_target·h_i + a_source·h_j)      c_ij·(…), c_ij = 1 where (…) ≥ 0, else slope
//   α_ij = exp(e_ij) / Σ_j exp(e_ij)                   out_i = Σ_j α_ij h_j
//
// A node without edges into it gets zeros. No value of any size exists for an edge but numbers for each
// head, and those only while a derivative is taken.
#pragma once

#include "attention/graph/graph.h"
#include "attention/smoother/reference.h"

namespace mercer {

struct GraphAttentionOptions {
    double slope = 0.2;  // of LeakyReLU below 0
    /// Weights are dropped (the others grow by 1/(1 − rate)) after normalising: weight h of edge k is
    /// element k·H + h of dropout(…, rate, key).
    WeightDropout dropout = {};
};

/// h (n, H, F), attention_source and attention_target (H, F), all f32 or all f64: (n, H, F). What is
/// not finite stays with the nodes that see it; nodes without edges, and rows whose cotangent is 0, give
/// nothing to any gradient.
/// Cost: 2·e·H·F flops and a read of e·H·F numbers from where neighbours lie; backward three times that.
/// The first derivative is fused, the second that of graph_attention_reference. Every sum is one
/// thread's and in the order of edges (or of nodes, in runs of 256): the same bits everywhere.
/// ShapeError, DTypeError; ValueError for a slope that is no number or a dropout rate outside [0, 1).
MERCER_API Var graph_attention(const Var& h, const Var& attention_source,
                               const Var& attention_target, const Graph& graph,
                               const GraphAttentionOptions& options = {});

/// The same, line by line, with (e, H, F) in memory.
MERCER_API Var graph_attention_reference(const Var& h, const Var& attention_source,
                                         const Var& attention_target, const Graph& graph,
                                         const GraphAttentionOptions& options = {});

/// α, after dropout, by edge: (e, H).
MERCER_API Var graph_attention_weights(const Var& h, const Var& attention_source,
                                       const Var& attention_target, const Graph& graph,
                                       const GraphAttentionOptions& options = {});

/// log exp(e_ij) as a sum of three (Song et al. 2021, Proposition 2), each (e, H): with
/// q_i = [h_i, 0], k_j = [0, h_j] and a = [a_target, a_source] in R^{2F},
///
///   exp(e_ij) = exp(−‖q_i − c a‖²/2) · exp(−‖c a − k_j‖²/2) · exp((2‖c a‖² + ‖q_i‖² + ‖k_j‖²)/2)
///
/// an RBF similarity of the target, one of the source, and a magnitude. c depends on the pair, so that
/// nothing with c a cancels in the softmax.
struct GraphDecomposition {
    Tensor c;  // 1 or the slope; 1 where a·(q_i + k_j) is exactly 0
    Var target, source,
        magnitude;  // −‖q_i − c a‖²/2, −‖c a − k_j‖²/2, (2‖c a‖² + ‖q_i‖² + ‖k_j‖²)/2
};
/// Both values of c for each node, then the one of each pair. Options: the slope.
MERCER_API GraphDecomposition decompose_graph_attention(const Var& h, const Var& attention_source,
                                                        const Var& attention_target,
                                                        const Graph& graph,
                                                        const GraphAttentionOptions& options = {});

}  // namespace mercer
