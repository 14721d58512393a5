#pragma once

#include "attention/graph/graph_attention.h"

namespace mercer::attention {

/// What graph_attention asks of its operands; throws as said there.
void check_graph_attention(const Var& h, const Var& attention_source, const Var& attention_target,
                           const Graph& graph, const GraphAttentionOptions& options);

}  // namespace mercer::attention
