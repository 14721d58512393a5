// Pointwise operations on the tape: built in or made by map().
#pragma once

#include "autograd/var.h"
#include "engine/ops/pointwise.h"

namespace mercer {

struct Rule;

/// Applies `op` and records it. `state` (a map's captures, `state_bytes` long) is copied onto the
/// tape.
MERCER_API Var record_pointwise(const PointwiseOp& op, const Rule& rule, VarRefs x,
                                const void* state = nullptr, size_t state_bytes = 0);
/// Sums `op` over the last `axes` axes and records it: nothing of the summed shape is kept.
MERCER_API Var record_pointwise_sum(const PointwiseOp& op, VarRefs x, int axes,
                                    const void* state = nullptr, size_t state_bytes = 0);
/// The rule of any formula: derivatives by dual numbers.
MERCER_API const Rule& pointwise_rule();

}  // namespace mercer
