// Adjoints of where and cast. Included by autograd/ops/layout.cpp only.
#pragma once

#include "engine/ops/choice.h"

namespace mercer {

template <class X>
void Where::vjp(Vjp<X>& c) {
    const Tensor mask = c.value(0);
    const X zero(Tensor::zeros({}, c.dtype()));
    if (c.wants(1)) c.give(1, sum_to(where(mask, c.g(), zero), c.in_shape(1)));
    if (c.wants(2)) c.give(2, sum_to(where(mask, zero, c.g()), c.in_shape(2)));
}

template <class X>
void Cast::vjp(Vjp<X>& c) {
    c.give(0, cast(c.g(), gradient_dtype(c.template attrs<Attrs>().from)));
}

}  // namespace mercer
