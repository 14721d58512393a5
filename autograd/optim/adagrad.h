// Adagrad.
#pragma once

#include "autograd/optim/optimizer.h"

namespace mercer {

struct AdagradOptions {
    double lr = 1e-2, epsilon = 1e-10;
    double initial = 0;       // what G starts with
    double lr_decay = 0;      // the t-th update, t ≥ 1, has lr/(1 + (t − 1)·lr_decay)
    double weight_decay = 0;  // λ: g ← g + λp
};

/// G ← G + g², p ← p − lr·g / (√G + ε). Duchi, Hazan and Singer 2011, figure 1 with diagonal G,
/// where their δ stands for ε; lr_decay and initial are PyTorch's. Remembers G.
class MERCER_API Adagrad : public Optimizer {
public:
    /// ValueError naming the option that is out of range.
    explicit Adagrad(const AdagradOptions& options = {});

private:
    Formula formula(int64_t t, double lr, double weight_decay) const override;
    AdagradOptions options_;
};

}  // namespace mercer
