// where(mask, a, b), on one instruction set.
#pragma once

#include "engine/cpu/pointwise.h"

namespace mercer::cpu {

struct ChoiceTable {
    /// Elements of 1, 4 and 8 bytes. in: the mask, a, b.
    PointwiseFn choose[3];
};

}  // namespace mercer::cpu
