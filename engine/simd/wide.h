// Float arguments computed in double lanes: a function of doubles that is good to a float's last
// place serves both element types, and its polynomials may be short.
#pragma once

#include "engine/simd/vec.h"

namespace mercer::MERCER_ISA {

#if MERCER_SIMD == MERCER_SIMD_SCALAR
template <int half>
MERCER_INLINE Vec<double> widen(Vec<float> a) {
    return double(a.v);
}
#else
template <int half>
MERCER_INLINE Vec<double> widen(Vec<float> a) {
    return native::widen<half>(a.v);
}
#endif

/// f(x…) for doubles, where f maps Vec<double>… to Vec<double>.
template <class F, class... X>
MERCER_INLINE Vec<double> in_double(F f, Vec<double> x, X... more) {
    return f(x, more...);
}
/// The same for floats, a half of the lanes at a time; the result is rounded once.
template <class F, class... X>
MERCER_INLINE Vec<float> in_double(F f, Vec<float> x, X... more) {
#if MERCER_SIMD == MERCER_SIMD_SCALAR
    return float(f(widen<0>(x), widen<0>(more)...).v);
#else
    const Vec<double> low = f(widen<0>(x), widen<0>(more)...);
    return native::narrow(low.v, f(widen<1>(x), widen<1>(more)...).v);
#endif
}

/// name(x…) for floats and doubles, by name_for<T>(doubles…), which may be as short as T allows.
#define MERCER_IN_DOUBLE(name)                                                           \
    template <class T, class... X>                                                       \
    MERCER_INLINE Vec<T> name(Vec<T> first, X... more) {                                 \
        return in_double([](auto... x) { return name##_for<T>(x...); }, first, more...); \
    }

}  // namespace mercer::MERCER_ISA
