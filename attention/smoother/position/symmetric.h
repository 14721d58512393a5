// The symmetric product kernel of features and positions (Tsai et al. 2019, Eq. 9):
//
//   k = k_F(f_q, f_k)·k_T(t_q, t_k),  k_F = exp(⟨f_q·W_F, f_k·W_F⟩/√d),  k_T likewise with t·W_T
//
// positive semidefinite, for it is a product of such; two matrices where Eq. 5 has three.
#pragma once

#include "attention/smoother/position/positioned.h"

namespace mercer {

struct Symmetric {
    /// t·W_T: [T, D] or [H, T, D], a row for each place on the keys' axis (T ≥ Tk and the last
    /// query's place + 1); one for both sides and the whole batch.
    Var projected = {};
    PositionOffset offset = {};
};
/// t·W_T, computed once: t [T, D], W_T [D, d] or [H, D, d].
MERCER_API Symmetric symmetric(const Var& t, const Var& weight, PositionOffset offset = {});

/// The term log k_T = ⟨t_q·W_T, t_k·W_T⟩/√d, d the width of q: [Tq, Tk] or [H, Tq, Tk].
MERCER_API Positioned place(const Symmetric& scheme, const Var& q, const Var& k);
/// The same kernel as one inner product, [q; t_q·W_T]·[k; t_k·W_T]/√d, without a term and in memory
/// linear in length: with the kernel dot_product(), whose root of the joint width q makes up for.
MERCER_API Positioned joined(const Symmetric& scheme, const Var& q, const Var& k);

}  // namespace mercer
