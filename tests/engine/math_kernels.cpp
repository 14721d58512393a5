// Every elementary and special function as a loop over arrays, compiled once per instruction set.
#include "engine/simd/circular.h"
#include "engine/simd/gamma.h"
#include "engine/simd/gelu.h"
#include "engine/simd/hyperbolic.h"
#include "engine/simd/math.h"
#include "engine/simd/normal.h"
#include "math_table.h"

namespace mercer::MERCER_ISA {
namespace {

template <class T>
MERCER_INLINE Vec<T> sine_of_both(Vec<T> x) {
    Vec<T> s, c;
    sincos(x, s, c);
    return s;
}
template <class T>
MERCER_INLINE Vec<T> cosine_of_both(Vec<T> x) {
    Vec<T> s, c;
    sincos(x, s, c);
    return c;
}

#define MERCER_MATH_KERNEL(name, expression)                \
    struct name##_kernel {                                  \
        template <class T>                                  \
        MERCER_INLINE static Vec<T> f(Vec<T> x, Vec<T> y) { \
            (void)y;                                        \
            return expression;                              \
        }                                                   \
    };
MERCER_MATH_FUNCTIONS(MERCER_MATH_KERNEL)
#undef MERCER_MATH_KERNEL

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

}  // namespace

extern const MathTable math_table;
const MathTable math_table = {
#define MERCER_MATH_F32(name, expression) loop<name##_kernel, float>,
#define MERCER_MATH_F64(name, expression) loop<name##_kernel, double>,
    {MERCER_MATH_FUNCTIONS(MERCER_MATH_F32)},
    {MERCER_MATH_FUNCTIONS(MERCER_MATH_F64)},
};

}  // namespace mercer::MERCER_ISA
