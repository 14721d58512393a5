// where(mask, a, b), on one instruction set.
#pragma once

#include "engine/cpu/pointwise.h"

namespace mercer::cpu {

struct ChoiceTable {
    /// Elements of 2^i bytes. in: a, b, the mask.
    PointwiseFn choose[4];
};

}  // namespace mercer::cpu
