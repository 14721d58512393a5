// Special functions.
#pragma once

#include "engine/simd/dual.h"

namespace mercer::MERCER_ISA::formula {

struct Erf {
    static MERCER_INLINE auto f(auto x) { return erf(x); }
};

}  // namespace mercer::MERCER_ISA::formula
