// Arithmetic. The derivatives of + − · and unary minus are written with the same operations,
// in autograd/ops/pointwise.cpp.
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

}  // namespace mercer::MERCER_ISA::formula
