// For long functions of doubles, which wait for their own results: polynomials in four chains, inverses without a division.
#pragma once

#include "engine/simd/math/poly.h"

namespace mercer::MERCER_ISA {

/// Horner's scheme in four chains, of every fourth power.
template <class T, class... Rest>
MERCER_INLINE Vec<T> horner_quarters(Vec<T> x, T c0, Rest... rest) {
    constexpr int count = 1 + sizeof...(rest);
    static_assert(count >= 4);
    const T c[count] = {c0, rest...};
    const Vec<T> z = x * x, w = z * z;
    Vec<T> part[4];
#pragma GCC unroll 4
    for (int k = 0; k < 4; ++k) {
        const int last = k + (count - 1 - k) / 4 * 4;
        part[k] = Vec<T>(c[last]);
#pragma GCC unroll 16
        for (int i = last - 4; i >= 0; i -= 4) part[k] = fma(w, part[k], Vec<T>(c[i]));
    }
    return fma(z, fma(x, part[3], part[2]), fma(x, part[1], part[0]));
}

/// 1/a for a normal a > 0 whose inverse is normal too, without a division: a line for the bits, then steps of Newton's.
/// Errors are 2^-8.6 after one, 2^-17, 2^-34.
template <int steps = 1, class T>
MERCER_INLINE Vec<T> rough_inverse(Vec<T> a) {
    using Int = typename Vec<T>::Int;
    constexpr auto line = sizeof(T) == 4 ? 0x7ef311c3ll : 0x7fde623822fc16e6ll;
    Vec<T> r = as_float(Int(typename Int::Scalar(line)) - as_int(a));
#pragma GCC unroll 4
    for (int i = 0; i < steps; ++i) r = r * fma(-a, r, Vec<T>(T(2)));
    return r;
}

}  // namespace mercer::MERCER_ISA
