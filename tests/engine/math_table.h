// The elementary functions of one instruction set as plain function pointers; math_kernels.cpp
// fills one per set.
#pragma once

#include <cstdint>

namespace mercer {

/// F(name, what it computes from the vectors x and y)
#define MERCER_MATH_FUNCTIONS(F)         \
    F(exp, exp(x))                       \
    F(log, log(x))                       \
    F(log1p, log1p(x))                   \
    F(expm1, expm1(x))                   \
    F(sin, sin(x))                       \
    F(cos, cos(x))                       \
    F(tanh, tanh(x))                     \
    F(erf, erf(x))                       \
    F(pow, pow(x, y))                    \
    F(sincos_sin, sine_of_both(x))       \
    F(sincos_cos, cosine_of_both(x))     \
    F(erfc, erfc(x))                     \
    F(erfinv, erfinv(x))                 \
    F(normal_pdf, normal_pdf(x))         \
    F(normal_cdf, normal_cdf(x))         \
    F(log_normal_cdf, log_normal_cdf(x)) \
    F(normal_icdf, normal_icdf(x))       \
    F(lgamma, lgamma(x))                 \
    F(digamma, digamma(x))               \
    F(trigamma, polygamma<1>(x))         \
    F(exp2, exp2(x))                     \
    F(log2, log2(x))                     \
    F(log10, log10(x))                   \
    F(tan, tan(x))                       \
    F(asin, asin(x))                     \
    F(acos, acos(x))                     \
    F(atan, atan(x))                     \
    F(sinh, sinh(x))                     \
    F(cosh, cosh(x))                     \
    F(asinh, asinh(x))                   \
    F(acosh, acosh(x))                   \
    F(atanh, atanh(x))                   \
    F(atan2, atan2(x, y))                \
    F(gelu, gelu(x))

enum MathFunction {
#define MERCER_MATH_NAME(name, expression) math_##name,
    MERCER_MATH_FUNCTIONS(MERCER_MATH_NAME)
#undef MERCER_MATH_NAME
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
