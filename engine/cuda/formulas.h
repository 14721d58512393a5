// The table of formula kernels on the device; a plain header between nvcc and the host compiler.
#pragma once

#include <cstdint>

#include "engine/export.h"

namespace mercer::cuda {

/// Pointers into device memory, of 16-byte alignment; n elements each. in: x₀… | g, x₀…, y | g, x₀…, y, c₀…;
/// null where the formula needs none.
struct FormulaArgs {
    const void* in[10];
    void* out[5];
    int64_t n;
};

/// Launches on the default stream; [f32, f64].
using Launch = void (*)(const FormulaArgs&);
struct Formula {
    const char* name;
    int arity;
    Launch forward[2], backward[2], second[2];
};

/// Every pointwise operation of ops.def, `count` of them.
MERCER_API const Formula* formulas(int* count);

}  // namespace mercer::cuda
