// Gradients of micro-batches, summed to that of the whole batch.
#pragma once

#include <span>
#include <utility>
#include <vector>

#include "engine/tensor.h"

namespace mercer {

/// Σ wₖgₖ / Σ wₖ. With losses that are means over a micro-batch, and its size as weight, that is
/// the gradient of the mean over the whole.
///   for (…) accumulator.add(tape.gradient(loss, vars), double(rows));
///   optimizer.step(parameters, accumulator.take());
class MERCER_API GradientAccumulator {
public:
    GradientAccumulator() = default;
    /// No copies: both would add to the same sums. What is moved from starts anew.
    GradientAccumulator(GradientAccumulator&& other) noexcept { *this = std::move(other); }
    GradientAccumulator& operator=(GradientAccumulator&& other) noexcept {
        sums_ = std::exchange(other.sums_, {});
        weight_ = std::exchange(other.weight_, 0);
        return *this;
    }

    /// One fused pass. Gradients that are not defined count as zero; one that never is stays
    /// undefined. Throws ValueError (weight not positive, or their sum
    /// out of range), ShapeError, DTypeError, naming the
    /// gradient.
    void add(std::span<const Tensor> gradients, double weight = 1);
    /// The weighted mean; starts anew. ValueError if nothing was added.
    std::vector<Tensor> take();
    /// Σ wₖ so far.
    double weight() const { return weight_; }

private:
    std::vector<Tensor> sums_;
    double weight_ = 0;
};

}  // namespace mercer
