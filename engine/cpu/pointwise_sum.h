// The table of kernels that sum a pointwise formula without storing its values.
#pragma once

#include "engine/cpu/pointwise.h"

namespace mercer::cpu {

/// out[0][r] = Σ_c f(x(r, c)…), in canonical order (canonical.h), the columns of an operand one
/// after the other or all alike.   [f32, f64]
struct PointwiseSums {
    PointwiseFn sum[2];
};

}  // namespace mercer::cpu
