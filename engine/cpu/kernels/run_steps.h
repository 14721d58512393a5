// Running extrema in registers, each of which holds one step of many lines.
#pragma once

#include "engine/cpu/canonical.h"

namespace mercer::MERCER_ISA {

/// v[t] becomes the extremum up to step t, place[t] the last step at which it stood: that of a new extremum, of an equal
/// one, of NaN; −1: before these.
template <class Op, class T, int n>
MERCER_INLINE void run_steps(Vec<T> (&v)[n], Vec<T> (&place)[n], Vec<T>& top, bool reverse) {
    Vec<T> last(T(-1));
#pragma GCC unroll 16
    for (int s = 0; s < n; ++s) {
        const int t = reverse ? n - 1 - s : s;
        const Vec<T> here = T(t);
        top = Op::join(top, v[t]);
        last = select(v[t] == top, here, select(v[t] != v[t], here, last));
        v[t] = top;
        place[t] = last;
    }
}

}  // namespace mercer::MERCER_ISA
