// One post-LN encoder layer:  x ← LN(x + Att(x)),  x ← LN(x + relu(relu(x W1 + b1) W2 + b2))
#pragma once

#include "models/layers/attention.h"
#include "models/layers/layer_norm.h"

namespace mercer {

struct MERCER_API EncoderLayer {
    Attention attention;
    LayerNorm attention_norm;
    Linear widen, narrow;
    LayerNorm output_norm;

    EncoderLayer(int64_t width, int64_t hidden, int64_t heads, SmootherOptions smoother, Key key,
                 AttentionOptions options = {});

    /// [n, width] or [B, n, width] to the same.
    Var forward(const Binding& at, const Var& x) const;
    void collect(Parameters& parameters, const std::string& prefix);
};

}  // namespace mercer
