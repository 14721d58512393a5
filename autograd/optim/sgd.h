// Descent along the gradient, with or without momentum.
#pragma once

#include "autograd/optim/optimizer.h"

namespace mercer {

struct SgdOptions {
    double lr = 1e-2;
    double momentum = 0;      // μ
    double dampening = 0;     // τ
    bool nesterov = false;    // needs momentum, and no dampening
    double weight_decay = 0;  // λ: g ← g + λp
};

/// μ = 0: p ← p − lr·g. Else v ← μv + (1 − τ)g, at a parameter's first update v ← g, and
///   p ← p − lr·v                    Polyak 1964; Sutskever et al. 2013, eq. 1–2
///   p ← p − lr·(g + μv)             Nesterov's; Sutskever et al. 2013, eq. 3–4, at the point
///   looked ahead to
/// Sutskever has lr inside of v (v ← μv − lr·g, p ← p + v), which is the same while lr is constant;
/// here it stands outside, as in PyTorch, from where the dampening is. Remembers v, unless μ = 0.
class MERCER_API Sgd : public Optimizer {
public:
    /// ValueError naming the option that is out of range.
    explicit Sgd(const SgdOptions& options = {});

private:
    Formula formula(int64_t t, double lr, double weight_decay) const override;
    SgdOptions options_;
};

}  // namespace mercer
