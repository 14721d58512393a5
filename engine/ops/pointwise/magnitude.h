// Absolute value, square root, the larger and the smaller of two.
#pragma once

#include "engine/ops/pointwise/formula.h"
#include "engine/simd/dual.h"

namespace mercer::MERCER_ISA::formula {

/// Derivative sign(x), 0 at the kink.
struct Abs : OnIntegers {
    static MERCER_INLINE auto f(auto x) { return abs(x); }
};
MERCER_FORMULA(Sqrt, sqrt)
/// Larger of two; NaN if either is NaN; at a tie the derivative goes to the first.
struct Maximum : OnIntegers {
    static MERCER_INLINE auto f(auto a, auto b) { return maximum(a, b); }
};
/// Smaller of two; NaN if either is NaN; at a tie the derivative goes to the first.
struct Minimum : OnIntegers {
    static MERCER_INLINE auto f(auto a, auto b) { return minimum(a, b); }
};

}  // namespace mercer::MERCER_ISA::formula
