// Scans along one axis: cumulative sum, product and extrema, and the linear recurrence whose adjoint is itself reversed.
#pragma once

#include "engine/ops/op.h"

namespace mercer {

struct ScanAttrs {
    int axis;
    bool exclusive, reverse;
};
MERCER_OPERATION_OF(ScanAttrs, Cumsum, "cumsum", Tensor, 0)
MERCER_OPERATION_OF(ScanAttrs, Cumprod, "cumprod", Tensor, input_bit(0))
/// As in its vjp; r_j ends at a zero. First order only.
MERCER_API Tensor cumprod_gradient(const ScanAttrs& attrs, const Tensor& x, const Tensor& g);
/// Results: the extremum so far, and where it stood (i64).
struct RunningAttrs {
    int axis;
    bool reverse;
};
MERCER_OPERATION_OF(RunningAttrs, Cummax, "cummax", Tensors<2>, output_bit_of(1))
MERCER_OPERATION_OF(RunningAttrs, Cummin, "cummin", Tensors<2>, output_bit_of(1))
/// h_t = a_t h_{t−1} + b_t, h before the first being 0. Inputs: a, b of one shape.
MERCER_OPERATION_WITH(RunningAttrs, SolvedFor, LinearRecurrence, "linear_recurrence", Tensor)

}  // namespace mercer
