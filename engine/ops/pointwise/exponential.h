// Exponentials and logarithms; the vector forms stand in engine/simd/math.
#pragma once

#include "engine/ops/pointwise/needs.h"
#include "engine/simd/dual.h"

namespace mercer::MERCER_ISA::formula {

/// exp' = exp: the saved output is the derivative.
struct Exp {
    static MERCER_INLINE auto f(auto x) { return exp(x); }
    static constexpr unsigned needs = needs_output;
    template <class V>
    static MERCER_INLINE V df(V, V y) {
        return y;
    }
};
struct Expm1 {
    static MERCER_INLINE auto f(auto x) { return expm1(x); }
};
struct Log {
    static MERCER_INLINE auto f(auto x) { return log(x); }
};
struct Log1p {
    static MERCER_INLINE auto f(auto x) { return log1p(x); }
};
struct Exp2 {
    static MERCER_INLINE auto f(auto x) { return exp2(x); }
    static constexpr unsigned needs = needs_output;
    template <class V>
    static MERCER_INLINE V df(V, V y) {
        return V(typename V::Scalar(0.69314718055994530942)) * y;
    }
};
struct Log2 {
    static MERCER_INLINE auto f(auto x) { return log2(x); }
};
struct Log10 {
    static MERCER_INLINE auto f(auto x) { return log10(x); }
};

}  // namespace mercer::MERCER_ISA::formula
