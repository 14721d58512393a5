// Keeping gradients small.
#pragma once

#include <span>

#include "engine/tensor.h"

namespace mercer {

/// What a norm that is not finite leads to.
enum class NonFinite : uint8_t {
    error,  // NumericalError, the gradients as they were
    keep    // the gradients stay as they are; the caller looks at the norm that is returned
};

/// √Σ g² over all elements of all gradients, those that are not defined left out. In double, in
/// canonical order: the same bits on every instruction set and number of threads; neither overflows
/// nor underflows. NaN if an element is, else ∞ if one is. One read. DTypeError unless f32 or f64.
MERCER_API double global_norm(std::span<const Tensor> gradients);

/// g ← g · min(1, max_norm/‖g‖) over all gradients at once; returns the norm before. Pascanu,
/// Mikolov and Bengio 2013, algorithm 1; PyTorch adds 1e-6 to the norm that it divides by. In place
/// where nobody else holds the memory, else into a new tensor: values that others see stay.
/// Throws ValueError unless max_norm > 0, NumericalError.
MERCER_API double clip_by_norm(std::span<Tensor> gradients, double max_norm,
                               NonFinite non_finite = NonFinite::error);

/// Every element into [−bound, bound]; NaN stays. Memory as with clip_by_norm. ValueError unless
/// bound > 0.
MERCER_API void clip_by_value(std::span<Tensor> gradients, double bound);

}  // namespace mercer
