// Running extrema in registers, each of which holds one step of many lines.
#pragma once

#include "engine/cpu/canonical.h"

namespace mercer::MERCER_ISA {

/// v[t] becomes the extremum up to step t, place[t] the last step at which it stood: that of a new extremum, of an equal
/// one, of NaN; −1: before these.
template <class Op, class T, class Index, int n>
MERCER_INLINE void run_steps(Vec<T> (&v)[n], Vec<Index> (&place)[n], Vec<T>& top, bool reverse) {
    Vec<Index> last(Index(-1));
#pragma GCC unroll 16
    for (int s = 0; s < n; ++s) {
        const int t = reverse ? n - 1 - s : s;
        top = Op::join(top, v[t]);
        const Mask<T> stands = v[t] == top || v[t] != v[t];
        last = select(stands.template as<Index>(), Vec<Index>(Index(t)), last);
        v[t] = top;
        place[t] = last;
    }
}

/// As many places as a register has lanes, as i64.
template <class Index>
MERCER_INLINE Vec<int64_t> widened(const Index* p) {
#if MERCER_SIMD == MERCER_SIMD_SCALAR
    return Vec<int64_t>(int64_t(*p));
#else
    typedef Index Some __attribute__((vector_size(Vec<int64_t>::lanes * sizeof(Index))));
    Some some;
    __builtin_memcpy(&some, p, sizeof some);
    return __builtin_convertvector(some, native::Register<int64_t>);
#endif
}

}  // namespace mercer::MERCER_ISA
