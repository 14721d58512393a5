// Absolute value, square root, the larger and the smaller of two.
#pragma once

#include "engine/simd/dual.h"

namespace mercer::MERCER_ISA::formula {

/// Derivative sign(x), 0 at the kink.
struct Abs {
    template <class V>
    static MERCER_INLINE V f(V x) {
        return abs(x);
    }
};
struct Sqrt {
    template <class V>
    static MERCER_INLINE V f(V x) {
        return sqrt(x);
    }
};
/// Larger of two; NaN if either is NaN; at a tie the derivative goes to the first.
struct Maximum {
    template <class V>
    static MERCER_INLINE V f(V a, V b) {
        return maximum(a, b);
    }
};
/// Smaller of two; NaN if either is NaN; at a tie the derivative goes to the first.
struct Minimum {
    template <class V>
    static MERCER_INLINE V f(V a, V b) {
        return minimum(a, b);
    }
};

}  // namespace mercer::MERCER_ISA::formula
