// The fused smoother: scores, weights and values of one tile after the other, in memory linear in
// length (Rabe and Staats 2021; Dao et al. 2022, algorithms 1 and 4).
//
// Queries come in blocks, keys in tiles of a fixed number. A tile's scores stay in cache:
//   forward    s = q·k, or differences, or sums;  z = formula(s, …) + position terms;
//              softmax:   p = e^{z − m} with the row's running maximum m, O += pV, at last O/Σp
//              division:  w = z, O += wV, at last O/Σw
//              entmax:    z of whole rows, their threshold; then p tile by tile
//   backward   s, z again;  p from what the forward pass kept of each row;  dp = dO·Vᵀ;
//              dz = p(dp − D), D = Σ dO∘O  (entmax: dz = e(dp − D), e = p^{2−α}, D = Σ e·dp/Σe);
//              dV += pᵀdO;  dz to the terms, through the formula to ds, and on to q and k
// Every sum runs in ascending keys (for those of keys: queries), so threads and blocks do not show.
#pragma once

#include "attention/smoother/fused/spec.h"

namespace mercer::attention {

struct FusedResult {
    Tensor out;         // [B…, Tq, D]
    Tensor statistics;  // [5, heads, Tq] (weights_table.h)
    Tensor mean;        // what D is made of: out without NaN of poison
    Tensor measures;    // [2, B…, Tq]: log Σe^z and the entropy of softmax, if asked for
};
struct FusedWants {
    bool gradient = false;  // what backward needs
    bool measures = false;
};
FusedResult fused_forward(const FusedSpec& spec, std::span<const Tensor> inputs, FusedWants wants);

/// What flows into the results; each may be undefined.
struct FusedCotangents {
    Tensor out, measures;
};
/// Of each input its cotangent; undefined where not wanted. one_sum: the relative term's x and the
/// queries are one input of a tape, and what flows to both is left with the latter.
std::vector<Tensor> fused_backward(const FusedSpec& spec, std::span<const Tensor> inputs,
                                   const FusedResult& forward, const FusedCotangents& g,
                                   const std::vector<bool>& wanted, bool one_sum = false);

}  // namespace mercer::attention
