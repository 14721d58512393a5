// Powers with any exponent.
#pragma once

#include "engine/simd/dual.h"

namespace mercer::MERCER_ISA::formula {

struct Pow {
    template <class V>
    static MERCER_INLINE V f(V x, V y) {
        return pow(x, y);
    }
};

}  // namespace mercer::MERCER_ISA::formula
