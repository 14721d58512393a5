// Multi-head self-attention over any kernel (Vaswani et al. 2017, section 3.2.2):
//
//   head_h = Att(x Wq_h, x Wk_h, x Wv_h),   y = [head_1 … head_H] Wo
//
// where Att is a kernel smoother (attention/smoother/reference.h).
#pragma once

#include "attention/smoother/reference.h"
#include "models/layers/linear.h"

namespace mercer {

struct MERCER_API Attention {
    int64_t heads;
    SmootherOptions smoother;
    Linear query, key, value, output;

    /// ValueError unless `heads` divides `width`.
    Attention(int64_t width, int64_t heads, SmootherOptions smoother, Key key);

    /// [n, width] to [n, width].
    Var forward(const Binding& at, const Var& x) const;
    /// How each position weighs the others in each head: [heads, n, n], rows sum to 1.
    Var weights(const Binding& at, const Var& x) const;
    void collect(Parameters& parameters, const std::string& prefix);

private:
    Var split_heads(const Var& x) const;
};

}  // namespace mercer
