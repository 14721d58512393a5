// Reductions in canonical order (canonical.h). Memory traffic: the input once, the output once.
#pragma once

#include "engine/tensor.h"

namespace mercer::cpu {

enum class Reduction { sum, max, min };

/// x viewed as (outer, n, inner), row-major, becomes `shape` = (outer, inner) elements. n = 0 gives
/// the identity.
Tensor reduce(Reduction op, const Tensor& x, int64_t outer, int64_t n, int64_t inner,
              const Shape& shape);

}  // namespace mercer::cpu
