// A number in an interval.
#pragma once

#include "engine/ops/pointwise/formula.h"
#include "engine/simd/dual.h"

namespace mercer::MERCER_ISA::formula {

/// The derivative goes to x inside, ends included, and to the end that holds outside: high, where low is above it.
struct Clamp : OnIntegers {
    template <class V>
    static MERCER_INLINE V f(V x, V low, V high) {
        const V raised = select(x < low, low, x);
        return select(raised > high, high, raised);
    }
};
/// a at t = 0 and b at t = 1, exactly.
struct Lerp {
    template <class V>
    static MERCER_INLINE V f(V a, V b, V t) {
        using S = typename V::Scalar;
        const V d = b - a;
        return select(t < V(S(0.5)), a + t * d, b - (V(S(1)) - t) * d);
    }
};

}  // namespace mercer::MERCER_ISA::formula
