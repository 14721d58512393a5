// What was moved out is moved back. Included by autograd/ops/sort.cpp only.
#pragma once

#include "engine/ops/sort.h"

namespace mercer {

template <class X>
void Sort::vjp(Vjp<X>& c) {
    const int axis = c.template attrs<Attrs>().axis;
    c.give(0, scatter_add(c.g(), c.out_value(1), axis, c.in_shape(0)[axis]));
}

template <class X>
void TopK::vjp(Vjp<X>& c) {
    const int axis = c.template attrs<Attrs>().axis;
    c.give(0, scatter_add(c.g(), c.out_value(1), axis, c.in_shape(0)[axis]));
}

}  // namespace mercer
