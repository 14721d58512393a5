// Running extrema in registers, each of which holds one step of many lines.
#pragma once

#include "engine/cpu/canonical.h"

namespace mercer::MERCER_ISA {

/// An extremum so far, and the last step at which it stood: that of a new extremum, of an equal one, of NaN.
template <class T>
struct Running {
    using Index = typename IntOf<T>::type;
    Vec<T> top;
    Vec<Index> last;

    template <class Op>
    MERCER_INLINE void step(Vec<T>& v, Index t, Vec<Index>& place) {
        top = Op::join(top, v);
        const Mask<T> stands = v == top || v != v;
        last = select(stands.template as<Index>(), Vec<Index>(t), last);
        v = top;
        place = last;
    }
};
/// v[t] becomes the extremum up to step t, place[t] where it stood; −1: before these.
template <class Op, class T, class Index, int n>
MERCER_INLINE void run_steps(Vec<T> (&v)[n], Vec<Index> (&place)[n], Vec<T>& top) {
    Running<T> now{top, Vec<Index>(Index(-1))};
#pragma GCC unroll 16
    for (int t = 0; t < n; ++t) now.template step<Op>(v[t], Index(t), place[t]);
    top = now.top;
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
