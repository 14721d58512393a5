// Running extrema in registers, each of which holds one step of many lines.
#pragma once

#include "engine/cpu/kernels/row.h"

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

/// The first `count` elements of v, places as i64.
template <class T, class To>
MERCER_INLINE void put_wide(Vec<T> v, To* to, int count, bool stream) {
    if constexpr (std::is_same_v<T, To>) {
        put(v, to, count, stream);
    } else {
        constexpr int wide = Vec<To>::lanes;
        alignas(64) T e[Vec<T>::lanes];
        v.store(e);
        for (int i = 0; i < count; i += wide)
            put(widened(e + i), to + i, count - i < wide ? count - i : wide, stream);
    }
}

}  // namespace mercer::MERCER_ISA
