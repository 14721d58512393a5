// Losses of one element.
#pragma once

#include "engine/simd/logistic.h"

namespace mercer::MERCER_ISA::formula {

/// (x − y)²
struct SquaredError {
    template <class V>
    static MERCER_INLINE V f(V x, V y) {
        const V d = x - y;
        return d * d;
    }
};
/// |x − y|
struct AbsoluteError {
    static MERCER_INLINE auto f(auto x, auto y) { return abs(x - y); }
};
/// ½m² + δ(|x − y| − m), m = min(|x − y|, δ)
struct Huber {
    template <class V>
    static MERCER_INLINE V f(V x, V y, V delta) {
        const V away = abs(x - y), inner = minimum(away, delta);
        return inner * inner * V(typename V::Scalar(0.5)) + delta * (away - inner);
    }
};
/// w·y·softplus(−x) + (1 − y)·softplus(x): no difference of large terms, at any x.
struct LogisticLoss {
    template <class V>
    static MERCER_INLINE V f(V x, V y, V weight) {
        const Opposite<V> s = softplus_of_both(x);
        return weight * y * s.minus + (V(typename V::Scalar(1)) - y) * s.plus;
    }
};
/// p·(log p − log q), 0 for p = 0; log q and p.
struct KullbackLeibler {
    template <class V>
    static MERCER_INLINE V f(V log_q, V p) {
        const V zero(typename V::Scalar(0)), one(typename V::Scalar(1));
        const auto outside = p <= zero;
        return select(outside, zero, p * (log(select(outside, one, p)) - log_q));
    }
};

}  // namespace mercer::MERCER_ISA::formula
