// Attention with linear biases (Press, Smith and Lewis 2022, section 3): log k − m_h·|i − j|, each
// head with a slope m_h of its own.
#pragma once

#include "attention/smoother/position/positioned.h"

namespace mercer {

/// 2^(−8h/n), h = 1 … n, for n a power of two; else those of the power of two below, n', then the
/// first n − n' of the odd ones (h = 1, 3, …) of 2n' (the paper's code). f64, [n]. ValueError for
/// n < 1.
MERCER_API Tensor alibi_slopes(int64_t heads);

struct Alibi {
    /// [] or [H]; the paper's are positive, others do as the formula says. May stand on a tape, to be learned.
    Var slopes = {};
    PositionOffset offset = {};
    bool causal = false;  // later keys are hidden
};
inline Alibi alibi(int64_t heads, PositionOffset offset = {}) {
    return {.slopes = alibi_slopes(heads), .offset = offset};
}
/// The term −m_h·|i + offset − j|: [Tq, Tk] or [H, Tq, Tk].
MERCER_API Positioned place(const Alibi& scheme, const Var& q, const Var& k);

}  // namespace mercer
