// The larger, the smaller, and NaN that stays: what an instruction set has no single instruction for.
#pragma once

#include "engine/simd/isa.h"

namespace mercer::MERCER_ISA::native {

/// Lane by lane a > b (a < b) ? a : b, so b where either is NaN or both are equal. R: a number or a register.
template <class R>
MERCER_INLINE R larger(R a, R b) {
    return a > b ? a : b;
}
template <class R>
MERCER_INLINE R smaller(R a, R b) {
    return a < b ? a : b;
}
/// b where it is NaN, else a.
template <class R>
MERCER_INLINE R or_nan(R a, R b) {
    return b != b ? b : a;
}

}  // namespace mercer::MERCER_ISA::native
