// A learning rate that falls when a score stops getting better.
#pragma once

#include "autograd/optim/state.h"

namespace mercer {

struct PlateauOptions {
    double lr = 1e-3, factor = 0.1, least = 0;
    int64_t patience = 10;  // scores in a row that may be no better
    int64_t cooldown = 0;   // scores after a fall that do not count
    double threshold = 1e-4;
    bool relative = true;  // better by threshold·|best|, else by threshold
    bool maximize = false;
};

/// After more than `patience` scores in a row that are not better than the best by the threshold:
/// lr ← max(factor·lr, least), then `cooldown` scores that are not counted. NaN is not better. As
/// Keras and PyTorch (ReduceLROnPlateau) do; PyTorch multiplies best by 1 ∓ threshold, which
/// differs for a best below 0, where it would call a worse score better, and leaves lr as it is
/// where it would fall by 10⁻⁸ or less.
class MERCER_API Plateau {
public:
    /// ValueError naming the option that is out of range.
    explicit Plateau(const PlateauOptions& options = {});
    /// Takes a score; returns the learning rate from now on.
    double step(double score);
    double lr() const { return lr_; }

    /// "lr" and "best" (f64), "bad" and "cooldown" (i64). restore() throws as Optimizer::restore
    /// does.
    NamedTensors state() const;
    void restore(const NamedTensors& state);

private:
    PlateauOptions options_;
    double lr_, best_;
    int64_t bad_ = 0, cooldown_ = 0;
};

}  // namespace mercer
