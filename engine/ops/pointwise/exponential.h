// Exponentials and logarithms; the vector forms stand in engine/simd/math.
#pragma once

#include "engine/ops/pointwise/needs.h"
#include "engine/simd/dual.h"

namespace mercer::MERCER_ISA::formula {

/// exp' = exp: the saved output is the derivative.
struct Exp {
    template <class V>
    static MERCER_INLINE V f(V x) {
        return exp(x);
    }
    static constexpr unsigned needs = needs_output;
    template <class V>
    static MERCER_INLINE V df(V, V y) {
        return y;
    }
};
struct Expm1 {
    template <class V>
    static MERCER_INLINE V f(V x) {
        return expm1(x);
    }
};
struct Log {
    template <class V>
    static MERCER_INLINE V f(V x) {
        return log(x);
    }
};
struct Log1p {
    template <class V>
    static MERCER_INLINE V f(V x) {
        return log1p(x);
    }
};
struct Exp2 {
    template <class V>
    static MERCER_INLINE V f(V x) {
        return exp2(x);
    }
    static constexpr unsigned needs = needs_output;
    template <class V>
    static MERCER_INLINE V df(V, V y) {
        return V(typename V::Scalar(0.69314718055994530942)) * y;
    }
};
struct Log2 {
    template <class V>
    static MERCER_INLINE V f(V x) {
        return log2(x);
    }
};
struct Log10 {
    template <class V>
    static MERCER_INLINE V f(V x) {
        return log10(x);
    }
};

}  // namespace mercer::MERCER_ISA::formula
