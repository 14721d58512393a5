// Relative sinusoids.
//
//   Tsai et al. 2019, Eq. 5:  k = k_exp(f_q, f_k)·k_fq(t_q, t_k),
//     log k_fq = Σ_{p < D/2} c_2p·sin((t_q − t_k)/10000^(2p/D)) + c_2p+1·cos(…)
//              = ⟨c, PE(t_q − t_k)⟩,  c = q·W_R
//   Transformer-XL (Dai et al. 2019, section 3.3):
//     score = ((q + u)·k + (q + v)·W_R PE(t_q − t_k))/√d
#pragma once

#include "attention/smoother/position/encoding.h"
#include "attention/smoother/position/positioned.h"

namespace mercer {

/// log k_fq of Eq. 5 for all pairs, at any positions: c [B…, Tq, D], t_q [Tq], t_k [Tk], integers or
/// real, which may stand on a tape; [B…, Tq, Tk]. No table over pairs: as PE(t − s) is PE(t) turned
/// by s, ⟨c, PE(t_q − t_k)⟩ = ⟨c turned by t_q, PE(−t_k)⟩, one product. ShapeError.
MERCER_API Var log_sinusoid_kernel(const Var& c, const Var& query_positions,
                                   const Var& key_positions, double base = 10000);

/// Keys are a memory of Tk − Tq states and the current segment; the last query stands with the last
/// key.
struct TransformerXl {
    /// W_R: [D, d] or [H, D, d], D the width of PE.
    Var weight = {};
    /// [d] or [H, d]; absent (as in Tsai's Eq. 5): none.
    Var u = {}, v = {};
    /// 1/√d on the position part; Tsai's Eq. 5 has none there.
    bool scale_positions = true;
    /// Distances beyond count as this one; 0: all count as they are.
    int64_t clamp_length = 0;
    /// Later keys are hidden, and half of the distances are left out.
    bool causal = false;
    /// Of PE; Tsai's Eq. 5 has interleaved. In fairseq's, −1 is padding: the PE of the key one later
    /// than its query, which only a scheme that is not causal meets, is zero.
    EncodingLayout layout = EncodingLayout::halves;
};
/// q + u and the term (q + v)·W_R PE(i + Tk − Tq − j)/√d: with c = (q + v)·W_Rᵀ/√d an inner product, as
/// in log_sinusoid_kernel; where distances are clamped (and for fairseq's layout), c and a table of PE.
/// ShapeError also where Tk < Tq.
MERCER_API Positioned place(const TransformerXl& scheme, const Var& q, const Var& k);

/// [memory; x] along the length; no gradient goes into the memory (segment recurrence, section 3.2).
/// An undefined memory is empty.
MERCER_API Var with_memory(const Var& memory, const Var& x);

}  // namespace mercer
