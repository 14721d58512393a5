// log |Γ|, ψ and its derivatives for formulas and maps: each is the derivative of the one before.
#pragma once

#include "engine/simd/follow.h"
#include "engine/simd/math/gamma.h"

namespace mercer::MERCER_ISA {

template <int n, class V>
MERCER_INLINE Dual<V> polygamma(Dual<V> x) {
    return chain(x, polygamma<n>(x.v), [&] { return polygamma<n + 1>(x.v); });
}
template <class V>
MERCER_INLINE Dual<V> digamma(Dual<V> x) {
    return chain(x, digamma(x.v), [&] { return polygamma<1>(x.v); });
}
template <class V>
MERCER_INLINE Dual<V> lgamma(Dual<V> x) {
    return chain(x, lgamma(x.v), [&] { return digamma(x.v); });
}

}  // namespace mercer::MERCER_ISA
