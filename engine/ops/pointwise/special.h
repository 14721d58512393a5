// Special functions.
#pragma once

#include "engine/simd/dual.h"

namespace mercer::MERCER_ISA::formula {

struct Erf {
    template <class V>
    static MERCER_INLINE V f(V x) {
        return erf(x);
    }
};

}  // namespace mercer::MERCER_ISA::formula
