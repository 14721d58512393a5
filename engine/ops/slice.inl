// Adjoints of slice, unslice and concat. Included by autograd/ops/layout.cpp only.
#pragma once

#include <limits>

#include "engine/ops/slice.h"

namespace mercer {

template <class X>
void Slice::vjp(Vjp<X>& c) {
    const Attrs& a = c.template attrs<Attrs>();
    c.give(0, unslice(c.g(), c.in_shape(0), a.axis, a.begin, a.step));
}

template <class X>
void Unslice::vjp(Vjp<X>& c) {
    const Attrs& a = c.template attrs<Attrs>();
    int64_t end = a.begin + c.in_shape(0)[a.axis] * a.step;
    if (end < 0) end = std::numeric_limits<int64_t>::min();  // past the front, not from the back
    c.give(0, slice(c.g(), a.axis, a.begin, end, a.step));
}

template <class X>
void Concat::vjp(Vjp<X>& c) {
    const int axis = c.template attrs<Attrs>().axis;
    int64_t begin = 0;
    for (int i = 0; i < c.inputs(); ++i) {
        const int64_t n = c.in_shape(i)[axis];
        if (c.wants(i)) c.give(i, slice(c.g(), axis, begin, begin + n));
        begin += n;
    }
}

}  // namespace mercer
