// Kernels whose result is bool, on one instruction set.
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
};

}  // namespace mercer::cpu
