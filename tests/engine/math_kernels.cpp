// Every elementary function as a loop over arrays, compiled once per instruction set.
#include "engine/simd/math.h"
#include "math_table.h"

namespace mercer::MERCER_ISA {
namespace {

#define MERCER_MATH_KERNEL(name, expression)                \
    struct name##_kernel {                                  \
        template <class T>                                  \
        MERCER_INLINE static Vec<T> f(Vec<T> x, Vec<T> y) { \
            (void)y;                                        \
            return expression;                              \
        }                                                   \
    };
MERCER_MATH_KERNEL(exp, exp(x))
MERCER_MATH_KERNEL(log, log(x))
MERCER_MATH_KERNEL(log1p, log1p(x))
MERCER_MATH_KERNEL(expm1, expm1(x))
MERCER_MATH_KERNEL(sin, sin(x))
MERCER_MATH_KERNEL(cos, cos(x))
MERCER_MATH_KERNEL(tanh, tanh(x))
MERCER_MATH_KERNEL(erf, erf(x))
MERCER_MATH_KERNEL(pow, pow(x, y))
#undef MERCER_MATH_KERNEL

struct sincos_sin_kernel {
    template <class T>
    MERCER_INLINE static Vec<T> f(Vec<T> x, Vec<T>) {
        Vec<T> s, c;
        sincos(x, s, c);
        return s;
    }
};
struct sincos_cos_kernel {
    template <class T>
    MERCER_INLINE static Vec<T> f(Vec<T> x, Vec<T>) {
        Vec<T> s, c;
        sincos(x, s, c);
        return c;
    }
};

/// y may be null: then f ignores it.
template <class F, class T>
void loop(const T* x, const T* y, T* out, int64_t n) {
    constexpr int lanes = Vec<T>::lanes;
    if (y == nullptr) y = x;
    int64_t i = 0;
    for (; i + lanes <= n; i += lanes)
        F::template f<T>(Vec<T>::load(x + i), Vec<T>::load(y + i)).store(out + i);
    if (const int rest = int(n - i); rest > 0)
        F::template f<T>(Vec<T>::load(x + i, rest, T(1)), Vec<T>::load(y + i, rest, T(1)))
            .store(out + i, rest);
}

#define MERCER_MATH_ROW(T)                                                                   \
    loop<exp_kernel, T>, loop<log_kernel, T>, loop<log1p_kernel, T>, loop<expm1_kernel, T>,  \
        loop<sin_kernel, T>, loop<cos_kernel, T>, loop<tanh_kernel, T>, loop<erf_kernel, T>, \
        loop<pow_kernel, T>, loop<sincos_sin_kernel, T>, loop<sincos_cos_kernel, T>

}  // namespace

extern const MathTable math_table;
const MathTable math_table = {{MERCER_MATH_ROW(float)}, {MERCER_MATH_ROW(double)}};

}  // namespace mercer::MERCER_ISA
