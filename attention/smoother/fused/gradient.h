// The fused smoother's gradient as an operation of its own, so that it can be differentiated again in
// memory linear in length.
#pragma once

#include "attention/smoother/fused/fused.h"
#include "autograd/tape.h"

namespace mercer::attention {

/// Cotangents of out and measures on the tape; measures may be undefined.
struct RecordedCotangents {
    Var out, measures;
};
/// fused_backward(), but where an α of entmax is above 2: a slope is told from the weakest element of its whole row there,
/// and the gradient is the reference form's, by blocks of rows.
std::vector<Tensor> smoother_backward(const FusedSpec& spec, std::span<const Tensor> inputs,
                                      const FusedResult& forward, const FusedCotangents& g,
                                      const std::vector<bool>& wanted, bool one_sum = false);
/// The same, recorded. Its own derivative is the reference form's, taken by blocks of rows:
/// O(block·Tk) memory beyond the operands' gradients.
std::vector<Var> recorded_backward(Tape& tape, const FusedSpec& spec, std::vector<Var> inputs,
                                   const FusedResult& forward, const RecordedCotangents& g,
                                   const std::vector<bool>& wanted);

}  // namespace mercer::attention
