// Optimisers that divide a mean of the gradients by a mean of their size:
//   m ← β₁m + (1 − β₁)g,  v ← β₂v + (1 − β₂)g²,  from 0;  t counts a parameter's updates.
#pragma once

#include "autograd/optim/optimizer.h"

namespace mercer {

struct AdamOptions {
    double lr = 1e-3, beta1 = 0.9, beta2 = 0.999, epsilon = 1e-8;
    double weight_decay = 0;  // λ of the penalty λ/2·‖p‖²: g ← g + λp
};

/// p ← p − lr · (m/(1 − β₁ᵗ)) / (√(v/(1 − β₂ᵗ)) + ε). Kingma and Ba 2015, algorithm 1.
class MERCER_API Adam : public Optimizer {
public:
    /// ValueError naming the option that is out of range.
    explicit Adam(const AdamOptions& options = {});

private:
    Formula formula(int64_t t, double lr, double weight_decay) const override;
    AdamOptions options_;
};

struct AdamWOptions {
    double lr = 1e-3, beta1 = 0.9, beta2 = 0.999, epsilon = 1e-8;
    double weight_decay = 0.01;  // λ: p ← (1 − lr·λ)p
};

/// p ← (1 − lr·λ)p, then Adam's step. Loshchilov and Hutter 2019, algorithm 2. There λ stands
/// beside the learning rate α and is scaled by the schedule η only; here, as in PyTorch and most
/// code, by lr = η·α.
class MERCER_API AdamW : public Optimizer {
public:
    explicit AdamW(const AdamWOptions& options = {});

private:
    Formula formula(int64_t t, double lr, double weight_decay) const override;
    AdamWOptions options_;
};

struct RAdamOptions {
    double lr = 1e-3, beta1 = 0.9, beta2 = 0.999, epsilon = 1e-8;
    double weight_decay = 0;  // as Adam's, or AdamW's when decoupled
    bool decoupled = false;
    double threshold = 5;  // of ρₜ: 4 in the paper, 5 in its authors' code and in PyTorch
};

/// Adam that trusts v once its variance is bounded. Liu et al. 2020, algorithm 2:
///   ρ∞ = 2/(1 − β₂) − 1,  ρₜ = ρ∞ − 2tβ₂ᵗ/(1 − β₂ᵗ)
///   r = √((ρₜ − 4)(ρₜ − 2)ρ∞ / ((ρ∞ − 4)(ρ∞ − 2)ρₜ))
///   ρₜ > threshold:  p ← p − lr · r · √(1 − β₂ᵗ) · (m/(1 − β₁ᵗ)) / (√v + ε)
///   else             p ← p − lr · m/(1 − β₁ᵗ)
/// The ε, which the paper lacks, stands where the authors' code and PyTorch have it: beside √v, not
/// √(v/(1 − β₂ᵗ)).
class MERCER_API RAdam : public Optimizer {
public:
    explicit RAdam(const RAdamOptions& options = {});

private:
    Formula formula(int64_t t, double lr, double weight_decay) const override;
    RAdamOptions options_;
};

}  // namespace mercer
