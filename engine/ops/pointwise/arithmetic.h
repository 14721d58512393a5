// Arithmetic. The derivatives of + − · and unary minus are written with the same operations in
// pointwise.inl.
#pragma once

#include "engine/simd/dual.h"

namespace mercer::MERCER_ISA::formula {

struct Add {
    template <class V>
    static MERCER_INLINE V f(V a, V b) {
        return a + b;
    }
};
struct Sub {
    template <class V>
    static MERCER_INLINE V f(V a, V b) {
        return a - b;
    }
};
struct Mul {
    template <class V>
    static MERCER_INLINE V f(V a, V b) {
        return a * b;
    }
};
struct Div {
    template <class V>
    static MERCER_INLINE V f(V a, V b) {
        return a / b;
    }
};
struct Neg {
    template <class V>
    static MERCER_INLINE V f(V x) {
        return -x;
    }
};
struct Square {
    template <class V>
    static MERCER_INLINE V f(V x) {
        return x * x;
    }
};
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
