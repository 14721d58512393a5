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
MERCER_INLINE Vec<float> narrow(Vec<double> a) { return float(a.v); }
#else
template <int half>
MERCER_INLINE Vec<double> widen(Vec<float> a) {
    return native::widen<half>(a.v);
}
MERCER_INLINE Vec<float> narrow(Vec<double> low, Vec<double> high) {
    return native::narrow(low.v, high.v);
}
#endif

/// f(x…) of floats, by f of doubles, a half of the lanes at a time; the result is rounded once.
template <class F, class... X>
MERCER_INLINE auto by_halves(F f, X... x) {
#if MERCER_SIMD == MERCER_SIMD_SCALAR
    return narrow(f(widen<0>(x)...));
#else
    const auto low = f(widen<0>(x)...);
    return narrow(low, f(widen<1>(x)...));
#endif
}

/// f(x…) for doubles, where f maps Vec<double>… to Vec<double>.
template <class F, class... X>
MERCER_INLINE Vec<double> in_double(F f, Vec<double> x, X... more) {
    return f(x, more...);
}
template <class F, class... X>
MERCER_INLINE Vec<float> in_double(F f, Vec<float> x, X... more) {
    return by_halves(f, x, more...);
}

/// name(x…) for floats and doubles, by name_for<T>(doubles…), which may be as short as T allows.
#define MERCER_IN_DOUBLE(name)                                                           \
    template <class T, class... X>                                                       \
    MERCER_INLINE Vec<T> name(Vec<T> first, X... more) {                                 \
        return in_double([](auto... x) { return name##_for<T>(x...); }, first, more...); \
    }

}  // namespace mercer::MERCER_ISA
