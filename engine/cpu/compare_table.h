// Kernels whose result is bool, and where(mask, a, b), on one instruction set.
#pragma once

#include "engine/cpu/pointwise.h"

namespace mercer::cpu {

enum class Comparison { equal, not_equal, less, less_equal };
enum class Logic { conjunction, disjunction, exclusive, negation };
enum class Test { nan, infinite, finite };

struct CompareTable {
    PointwiseFn compare[4][5];  // [Comparison][DType]
    PointwiseFn logic[4];       // [Logic], on bool
    PointwiseFn test[3][2];     // [Test][f32, f64]
    PointwiseFn choose[4];      // in: a, b, the mask; elements of 2^i bytes
};

}  // namespace mercer::cpu
