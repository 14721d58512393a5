// gather and scatter_add are each other's adjoint. Included by autograd/ops/layout.cpp only.
#pragma once

#include "engine/ops/index.h"

namespace mercer {

template <class X>
void Gather::vjp(Vjp<X>& c) {
    const int axis = c.template attrs<Attrs>().axis;
    c.give(0, scatter_add(c.g(), c.value(1), axis, c.in_shape(0)[axis]));
}

template <class X>
void ScatterAdd::vjp(Vjp<X>& c) {
    c.give(0, gather(c.g(), c.value(1), c.template attrs<Attrs>().axis));
}

}  // namespace mercer
