// Powers with any exponent.
#pragma once

#include "engine/simd/dual.h"

namespace mercer::MERCER_ISA::formula {

struct Pow {
    static MERCER_INLINE auto f(auto x, auto y) { return pow(x, y); }
};

}  // namespace mercer::MERCER_ISA::formula
