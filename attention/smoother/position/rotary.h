// Rotary position embedding (Su et al. 2021, RoFormer, Eq. 34): pair p of a query or key at position
// t is turned by the angle t·θ_p, θ_p = base^(−2p/D), so that ⟨q_i, k_j⟩ depends on i − j only.
#pragma once

#include "attention/smoother/position/pairs.h"
#include "attention/smoother/position/positioned.h"

namespace mercer {

/// (x_1, x_2) → (x_1·cos a − x_2·sin a, x_1·sin a + x_2·cos a), a = position·base^(−2p/D), for the
/// pairs p of the first D elements of each row; the rest stays. x: [..., T, d]; positions [T], or
/// [..., T] that broadcasts, integers or real, which may stand on a tape; D = `width`, or d. Angles
/// are computed in f64. ShapeError for an odd width, one above d, and positions that do not fit.
MERCER_API Var rotate_pairs(const Var& x, const Var& positions, PairLayout layout,
                            double base = 10000, int64_t width = 0);

struct Rotary {
    /// halves as in GPT-NeoX and LLaMA, interleaved as in the paper: different numbers, so that
    /// trained weights fit one of them.
    PairLayout layout = PairLayout::halves;
    double base = 10000;
    int64_t width = 0;  // how much of each row is turned; 0: all
    PositionOffset offset = {};
};
inline Rotary rotary(PairLayout layout = PairLayout::halves, double base = 10000) {
    return {.layout = layout, .base = base};
}
/// q and k turned by their positions. To decode with keys that were turned before, call rotate_pairs
/// for the new ones at their positions.
MERCER_API Positioned place(const Rotary& scheme, const Var& q, const Var& k);

}  // namespace mercer
