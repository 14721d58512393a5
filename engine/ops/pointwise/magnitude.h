// Absolute value, square root, the larger and the smaller of two.
#pragma once

#include "engine/simd/dual.h"

namespace mercer::MERCER_ISA::formula {

/// Derivative sign(x), 0 at the kink.
struct Abs {
    static MERCER_INLINE auto f(auto x) { return abs(x); }
};
struct Sqrt {
    static MERCER_INLINE auto f(auto x) { return sqrt(x); }
};
/// Larger of two; NaN if either is NaN; at a tie the derivative goes to the first.
struct Maximum {
    static MERCER_INLINE auto f(auto a, auto b) { return maximum(a, b); }
};
/// Smaller of two; NaN if either is NaN; at a tie the derivative goes to the first.
struct Minimum {
    static MERCER_INLINE auto f(auto a, auto b) { return minimum(a, b); }
};

}  // namespace mercer::MERCER_ISA::formula
