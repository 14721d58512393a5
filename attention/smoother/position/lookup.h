// Relative positions looked up in a learned table a (Tsai et al. 2019, Eq. 6): k = L·k_exp(q, k),
//
//   log L_ij = ⟨q_i, a_{j − i}⟩/√d
//
// Lookup (Shaw et al. 2018, Eq. 2–5) clips j − i; Skew (Huang et al. 2018, Music Transformer) is
// causal, does not clip and needs no index.
#pragma once

#include "attention/smoother/position/positioned.h"

namespace mercer {

struct Lookup {
    /// a: [2c + 1, d] or [H, 2c + 1, d]; row c + s belongs to j − i = s, and beyond ±c to ±c.
    Var table = {};
    /// a^V: [2c' + 1, D] or [H, 2c' + 1, D], or none: Σ_j w_ij·a^V_{j − i} joins the output.
    Var values = {};
    /// Rows count i − j instead (Tsai).
    bool reversed = false;
    /// 1/√d; Tsai has none.
    bool scaled = true;
    PositionOffset offset = {};
};
/// The term log L, and the values' rows.
MERCER_API Positioned place(const Lookup& scheme, const Var& q, const Var& k);

/// Σ_j w_ij·a^V_{j − i}: weights [B…, Tq, Tk] to [B…, Tq, D], an addition to the output (Shaw Eq. 3).
MERCER_API Var relative_values(const Lookup& scheme, const Var& weights);

/// Causal: later keys are hidden.
struct Skew {
    /// E: [L, d] or [H, L, d], L ≥ Tk; the last row belongs to the query's own place, the one before
    /// to the key before it.
    Var table = {};
    bool scaled = true;
    PositionOffset offset = {};  // Tk − Tq, if given
};
/// The term skew(q·Eᵀ)/√d.
MERCER_API Positioned place(const Skew& scheme, const Var& q, const Var& k);

}  // namespace mercer
