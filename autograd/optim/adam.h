// Adam (Kingma and Ba 2015, algorithm 1):
//   m ← β₁m + (1 − β₁)g,  v ← β₂v + (1 − β₂)g²,  p ← p − lr · (m/(1 − β₁ᵗ)) / (√(v/(1 − β₂ᵗ)) + ε)
#pragma once

#include <span>
#include <vector>

#include "engine/tensor.h"

namespace mercer {

struct AdamOptions {
    double lr = 1e-3, beta1 = 0.9, beta2 = 0.999, epsilon = 1e-8;
};

class MERCER_API Adam {
public:
    /// ValueError for options out of range.
    explicit Adam(AdamOptions options = {});

    /// One update of all parameters in place, a single pass over p, g, m and v. Parameters keep
    /// their order and shapes between calls: ShapeError otherwise. Bumps the parameters' versions.
    void step(std::span<Tensor* const> parameters, std::span<const Tensor> gradients);

    AdamOptions& options() { return options_; }

    /// All that the next step depends on; restore() makes it bit for bit the same.
    struct State {
        int64_t step = 0;
        std::vector<Tensor> m, v;
    };
    State state() const;  // copies
    void restore(const State& state);

private:
    AdamOptions options_;
    State state_;
};

}  // namespace mercer
