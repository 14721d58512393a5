// Sparse Transformer's filters (Child et al. 2019, section 4.3) by parts that are made of full tiles: what is
// near, and summaries, whose queries and keys are regrouped; the parts' softmaxes joined by their
// log Σe^z.
#pragma once

#include "attention/smoother/reference.h"

namespace mercer::attention {

/// attend() where the filter is strided() or fixed() (sub_blocks 1) as it stands, over at least four
/// blocks, with softmax, and positions say no term. Else nothing. Time O(T·(l + T/l)·d), memory linear.
std::optional<Var> attend_sparse(const Var& q, const Var& k, const Var& v,
                                 const SmootherOptions& options);

}  // namespace mercer::attention
