// Steps: to whole numbers, and the sign. Their derivative is 0, at the steps too. Any size of argument; zeros keep their
// sign.
#pragma once

#include "engine/ops/pointwise/formula.h"
#include "engine/simd/dual.h"

namespace mercer::MERCER_ISA {

/// Nearest whole number, ties to even. From 2^mantissa on every number is whole.
template <class T>
MERCER_INLINE Vec<T> round_even(Vec<T> x) {
    const Vec<T> whole(T(int64_t(1) << Format<T>::mantissa)), t = abs(x);
    return select(t < whole, copysign((t + whole) - whole, x), x);
}

namespace formula {

struct Step {
    static constexpr unsigned needs = 0;
    template <class V>
    static MERCER_INLINE V df(V, V) {
        return V(typename V::Scalar(0));
    }
};
struct Round : Step {
    static MERCER_INLINE auto f(auto x) { return round_even(x); }
};
struct Floor : Step {
    template <class V>
    static MERCER_INLINE V f(V x) {
        const V r = round_even(x);
        return copysign(select(r > x, r - V(typename V::Scalar(1)), r), x);
    }
};
struct Ceil : Step {
    template <class V>
    static MERCER_INLINE V f(V x) {
        const V r = round_even(x);
        return copysign(select(r < x, r + V(typename V::Scalar(1)), r), x);
    }
};
struct Trunc : Step {
    template <class V>
    static MERCER_INLINE V f(V x) {
        const V t = abs(x), r = round_even(t);
        return copysign(select(r > t, r - V(typename V::Scalar(1)), r), x);
    }
};
/// −1, 0 or 1; NaN for NaN.
struct Sign : Step, OnIntegers {
    template <class V>
    static MERCER_INLINE V f(V x) {
        const V zero(typename V::Scalar(0)), one(typename V::Scalar(1));
        return select(x > zero, one, select(x < zero, -one, x));
    }
};

}  // namespace formula
}  // namespace mercer::MERCER_ISA
