// The table of kernels that sum a pointwise formula.
#pragma once

#include "engine/cpu/pointwise.h"

namespace mercer::cpu {

/// Lanes of sums that wait for a row's next piece (kept_sums.h): column c adds to lane c mod this.
inline constexpr int64_t kept_lanes = 16;

/// The columns of an operand one after the other or all alike.   [f32, f64]
struct PointwiseSums {
    /// out[0][r] = Σ_c f(x(r, c)…), in canonical order (canonical.h); f is not stored.
    PointwiseFn sum[2];
    /// out[0](r, c) = f; to rows of kept sums add out[1][r] Σ_c f and out[2][r] Σ_c |f|.
    PointwiseFn keep[2];
};

}  // namespace mercer::cpu
