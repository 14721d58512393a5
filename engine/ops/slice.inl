// Adjoints of slice, unslice and concat.
#pragma once

#include <limits>

#include "engine/ops/slice.h"

namespace mercer {

MERCER_VJP(Slice, c.give(0, unslice(c.g(), c.in_shape(0), a.axis, a.begin, a.step)))

template <class X>
void Unslice::vjp(Vjp<X>& c, const Attrs& a) {
    int64_t end = a.begin + c.in_shape(0)[a.axis] * a.step;
    if (end < 0) end = std::numeric_limits<int64_t>::min();  // past the front, not from the back
    c.give(0, slice(c.g(), a.axis, a.begin, end, a.step));
}

template <class X>
void Concat::vjp(Vjp<X>& c, const Attrs& a) {
    int64_t begin = 0;
    for (int i = 0; i < c.inputs(); ++i) {
        const int64_t n = c.in_shape(i)[a.axis];
        if (c.wants(i)) c.give(i, slice(c.g(), a.axis, begin, begin + n));
        begin += n;
    }
}

MERCER_VALUE slice(const MERCER_VALUE& x, int axis, int64_t begin, int64_t end, int64_t step) {
    return perform<Slice>(slice_range(x.shape(), axis, begin, end, step), x);
}
MERCER_VALUE unslice(const MERCER_VALUE& x, const Shape& shape, int axis, int64_t begin, int64_t step) {
    return perform<Unslice>(unslice_range(x.shape(), shape, axis, begin, step), x);
}

}  // namespace mercer
