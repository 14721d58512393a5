// log |Γ|, ψ and its derivatives for formulas and maps: each is the derivative of the one before.
#pragma once

#include "engine/simd/dual.h"
#include "engine/simd/math/gamma.h"

namespace mercer::MERCER_ISA {

template <int n, class V>
MERCER_INLINE Dual<V> polygamma(Dual<V> x) {
    return {polygamma<n>(x.v), polygamma<n + 1>(x.v) * x.d};
}
template <class V>
MERCER_INLINE Dual<V> digamma(Dual<V> x) {
    return {digamma(x.v), polygamma<1>(x.v) * x.d};
}
template <class V>
MERCER_INLINE Dual<V> lgamma(Dual<V> x) {
    return {lgamma(x.v), digamma(x.v) * x.d};
}

}  // namespace mercer::MERCER_ISA
