// The elementary functions of one instruction set as plain function pointers; math_kernels.cpp
// fills one per set.
#pragma once

#include <cstdint>

namespace mercer {

enum MathFunction {
    math_exp,
    math_log,
    math_log1p,
    math_expm1,
    math_sin,
    math_cos,
    math_tanh,
    math_erf,
    math_pow,
    math_sincos_sin,
    math_sincos_cos,
    math_count
};

template <class T>
using MathKernel = void (*)(const T* x, const T* y, T* out, int64_t n);

struct MathTable {
    MathKernel<float> f32[math_count];
    MathKernel<double> f64[math_count];
};

#define MERCER_MATH_TABLE(isa)         \
    namespace isa {                    \
    extern const MathTable math_table; \
    }
MERCER_MATH_TABLE(scalar)
MERCER_MATH_TABLE(scalar_fma)
MERCER_MATH_TABLE(avx2)
MERCER_MATH_TABLE(avx512)
MERCER_MATH_TABLE(neon)
#undef MERCER_MATH_TABLE

}  // namespace mercer
