// What was moved out is moved back. Included by autograd/ops/sort.cpp, and by scan.inl.
#pragma once

#include "engine/ops/sort.h"

namespace mercer {

/// Of an operation whose second result says where along its axis the first one's elements were.
template <class X>
void give_back(Vjp<X>& c, int axis) {
    c.give(0, scatter_add(c.g(), c.out_value(1), axis, c.in_shape(0)[axis]));
}
MERCER_SHARED_VJP(Sort, give_back(c, c.template attrs<Attrs>().axis))
MERCER_SHARED_VJP(TopK, give_back(c, c.template attrs<Attrs>().axis))

}  // namespace mercer
