// A number in an interval.
#pragma once

#include "engine/ops/pointwise/formula.h"
#include "engine/simd/dual.h"

namespace mercer::MERCER_ISA::formula {

/// The derivative goes to x inside, ends included, and to the end that holds outside: high, where low is above it. NaN
/// where one of the three is.
struct Clamp : OnIntegers {
    template <class V>
    static MERCER_INLINE V f(V x, V low, V high) {
        const V raised = select(x >= low || is_nan(x), x, low);
        return select(raised <= high || is_nan(raised), raised, high);
    }
};
/// a at t = 0 and b at t = 1, exactly, if both are finite.
struct Lerp {
    template <class V>
    static MERCER_INLINE V f(V a, V b, V t) {
        using S = typename V::Scalar;
        const V half(S(0.5)), d = b * half - a * half;  // b − a may overflow
        const V from_a = t * d, from_b = (V(S(1)) - t) * d;
        return select(t < half, a + (from_a + from_a), b - (from_b + from_b));
    }
};

}  // namespace mercer::MERCER_ISA::formula
