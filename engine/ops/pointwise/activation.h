// Activations.
#pragma once

#include "engine/ops/pointwise/formula.h"
#include "engine/simd/gelu.h"
#include "engine/simd/logistic.h"

namespace mercer::MERCER_ISA::formula {

MERCER_FORMULA_BY_RESULT(Tanh, tanh, one - y * y)
MERCER_FORMULA_BY_RESULT(Sigmoid, sigmoid, y*(one - y))
MERCER_FORMULA(Softplus, softplus)
/// Derivative 0 at the kink.
struct Relu {
    template <class V>
    static MERCER_INLINE V f(V x) {
        const V zero(typename V::Scalar(0));
        return select(x > zero || is_nan(x), x, zero);
    }
};
/// x·Φ(x), exact.
MERCER_FORMULA(Gelu, gelu)

}  // namespace mercer::MERCER_ISA::formula
