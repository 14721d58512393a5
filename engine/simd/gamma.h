// log |Γ|, ψ and its derivatives for formulas and maps: each is the derivative of the one before.
#pragma once

#include "engine/simd/follow.h"
#include "engine/simd/math/gamma.h"

namespace mercer::MERCER_ISA {

template <int n, class V>
MERCER_INLINE Dual<V> polygamma(Dual<V> x) {
    return chain(x, polygamma<n>(x.v), [&] { return polygamma<n + 1>(x.v); });
}
MERCER_DERIVATIVE(digamma, polygamma<1>(x))
MERCER_DERIVATIVE(lgamma, digamma(x))

}  // namespace mercer::MERCER_ISA
