// Circular functions and their inverses; the rules of the latter stand in engine/simd/circular.h.
#pragma once

#include "engine/ops/pointwise/needs.h"
#include "engine/simd/circular.h"

namespace mercer::MERCER_ISA::formula {

struct Sin {
    static MERCER_INLINE auto f(auto x) { return sin(x); }
};
struct Cos {
    static MERCER_INLINE auto f(auto x) { return cos(x); }
};
/// tan' = 1 + tan²: the saved output is enough.
struct Tan {
    static MERCER_INLINE auto f(auto x) { return tan(x); }
    static constexpr unsigned needs = needs_output;
    template <class V>
    static MERCER_INLINE V df(V, V y) {
        return fma(y, y, V(typename V::Scalar(1)));
    }
};
/// NaN beyond ±1.
struct Asin {
    static MERCER_INLINE auto f(auto x) { return asin(x); }
};
/// NaN beyond ±1.
struct Acos {
    static MERCER_INLINE auto f(auto x) { return acos(x); }
};
struct Atan {
    static MERCER_INLINE auto f(auto x) { return atan(x); }
};
/// The angle of the point (x, y), in (−π, π].
struct Atan2 {
    static MERCER_INLINE auto f(auto y, auto x) { return atan2(y, x); }
};

}  // namespace mercer::MERCER_ISA::formula
