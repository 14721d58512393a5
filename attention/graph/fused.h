// The fused passes of graph attention. Both recompute weights from each row's maximum and share.
#pragma once

#include <array>

#include "attention/graph/graph_attention.h"

namespace mercer::attention {

struct GraphForward {
    Tensor out;     // (n, H, F)
    Tensor scores;  // (2, n, H): a_source·h, a_target·h
    Tensor rows;    // (2, n, H): a row's largest e, and 1/Σe^{e − max}
};
GraphForward graph_forward(const Tensor& h, const Tensor& attention_source,
                           const Tensor& attention_target, const Graph& graph,
                           const GraphAttentionOptions& options);

/// The derivatives of h, attention_source and attention_target; undefined where not wanted (bits 0, 1,
/// 2). Needs 2·e·H numbers meanwhile.
std::array<Tensor, 3> graph_backward(const Tensor& h, const Tensor& attention_source,
                                     const Tensor& attention_target, const GraphForward& forward,
                                     const Tensor& g, const Graph& graph,
                                     const GraphAttentionOptions& options, unsigned wanted);

}  // namespace mercer::attention
