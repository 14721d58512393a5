// RMSprop.
#pragma once

#include "autograd/optim/optimizer.h"

namespace mercer {

struct RmsPropOptions {
    double lr = 1e-2, alpha = 0.99, epsilon = 1e-8;
    double momentum = 0;  // μ
    bool centered = false;
    double weight_decay = 0;  // λ: g ← g + λp
};

/// v ← αv + (1 − α)g², p ← p − lr·d with d = g / (√v + ε). Tieleman and Hinton 2012, lecture 6.5,
/// slide 29, whose α is 0.9 and ε none. Centred: a ← αa + (1 − α)g and √(v − a²) in place of √v:
/// Graves 2013, eq. 38–45, where ε stands under the root; here, as in PyTorch, beside it. v − a² is
/// taken as 0 where rounding makes it negative; there PyTorch has NaN. With momentum: b ← μb + d, p
/// ← p − lr·b; Graves has lr inside of b, which is the same while it is constant. Remembers v; a if
/// centred; b with momentum.
class MERCER_API RmsProp : public Optimizer {
public:
    /// ValueError naming the option that is out of range.
    explicit RmsProp(const RmsPropOptions& options = {});

private:
    Formula formula(int64_t t, double lr, double weight_decay) const override;
    RmsPropOptions options_;
};

}  // namespace mercer
