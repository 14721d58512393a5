// Absolute positions (Tsai et al. 2019, Eq. 4): k = k_exp(f_q + t_q, f_k + t_k), the direct sum of
// features and positions. By linearity (f + t)·W = f·W + t·W, so that the sum may be taken before or
// after the projection.
#pragma once

#include "attention/smoother/position/positioned.h"

namespace mercer {

/// f + t: f [B…, T, D], t [T, D] or of f's rank with axes 1 where it is shared. ShapeError.
MERCER_API Var add_positions(const Var& f, const Var& t);

/// What the values are projected from.
enum class ValueInput {
    features_and_positions,  // v = (f + t)·W_v (Tsai Eq. 7)
    features,                // v = f·W_v (Tsai Eq. 8)
};
/// f + t or f.
MERCER_API Var value_input(const Var& f, const Var& t, ValueInput which);

/// Encodings, or their projections t·W_q and t·W_k: [T, d], or [1, H, T, d] for heads.
struct Absolute {
    Var queries, keys;
};
/// q + t_q, k + t_k.
MERCER_API Positioned place(const Absolute& scheme, const Var& q, const Var& k);

}  // namespace mercer
