// Circular functions.
#pragma once

#include "engine/simd/dual.h"

namespace mercer::MERCER_ISA::formula {

struct Sin {
    template <class V>
    static MERCER_INLINE V f(V x) {
        return sin(x);
    }
};
struct Cos {
    template <class V>
    static MERCER_INLINE V f(V x) {
        return cos(x);
    }
};

}  // namespace mercer::MERCER_ISA::formula
