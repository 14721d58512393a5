// Activations.
#pragma once

#include "engine/ops/pointwise/needs.h"
#include "engine/simd/gelu.h"
#include "engine/simd/logistic.h"

namespace mercer::MERCER_ISA::formula {

struct Tanh {
    static MERCER_INLINE auto f(auto x) { return tanh(x); }
    static constexpr unsigned needs = needs_output;
    template <class V>
    static MERCER_INLINE V df(V, V y) {
        return V(typename V::Scalar(1)) - y * y;
    }
};
struct Sigmoid {
    static MERCER_INLINE auto f(auto x) { return sigmoid(x); }
    static constexpr unsigned needs = needs_output;
    template <class V>
    static MERCER_INLINE V df(V, V y) {
        return y * (V(typename V::Scalar(1)) - y);
    }
};
struct Softplus {
    static MERCER_INLINE auto f(auto x) { return softplus(x); }
};
/// Derivative 0 at the kink.
struct Relu {
    template <class V>
    static MERCER_INLINE V f(V x) {
        const V zero(typename V::Scalar(0));
        return select(x > zero || is_nan(x), x, zero);
    }
};
/// x·Φ(x), exact.
struct Gelu {
    static MERCER_INLINE auto f(auto x) { return gelu(x); }
};

}  // namespace mercer::MERCER_ISA::formula
