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
/// fused_backward(), recorded. Its own derivative is the reference form's, taken by blocks of rows:
/// O(block·Tk) memory beyond the operands' gradients.
std::vector<Var> recorded_backward(Tape& tape, const FusedSpec& spec, std::vector<Var> inputs,
                                   const FusedResult& forward, const RecordedCotangents& g,
                                   const std::vector<bool>& wanted);

}  // namespace mercer::attention
