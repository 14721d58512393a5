// The fused smoother: scores, weights and values of one tile after the other, in memory linear in
// length (Rabe and Staats 2021; Dao et al. 2022, algorithms 1 and 4). For kernels that are log weights of inner
// products and norms, under softmax, with any filter.
//
// Queries come in blocks, keys in tiles of a fixed number. A tile's scores stay in cache:
//   forward    S = QKᵀ;  z = formula(S, …);  p = e^{z − m} with the row's running maximum m;  O += pV
//   backward   S, z again;  p = e^{z − m}/Σ;  dp = dO·Vᵀ;  dz = p(dp − D), D = Σ dO∘O;  ds = dz·∂z/∂s;
//              dV += pᵀdO,  dQ += ds·K,  dK += dsᵀQ
// Every sum runs in ascending keys (for dK, dV: queries), so threads and blocks do not show.
#pragma once

#include <array>

#include "attention/smoother/reference.h"

namespace mercer::attention {

/// What fused() asks of operands; q, k, v with the same leading axes, of one floating dtype.
bool can_fuse(const Var& q, const Var& k, const Var& v, const SmootherOptions& options);

struct FusedResult {
    Tensor out;         // [B…, Tq, D]
    Tensor max, share;  // [B…, Tq]: a row's largest log weight, and 1/Σe^{z − max}
    bool finite;  // false: keys or values hold NaN or infinities, and nothing was computed to use
};
FusedResult fused_forward(const Tensor& q, const Tensor& k, const Tensor& v,
                          const SmootherOptions& options);

/// dq, dk, dv; undefined where not wanted (bits 0, 1, 2).
std::array<Tensor, 3> fused_backward(const Tensor& q, const Tensor& k, const Tensor& v,
                                     const FusedResult& forward, const Tensor& g,
                                     const SmootherOptions& options, unsigned wanted);

}  // namespace mercer::attention
