// Adjoints of where and cast.
#pragma once

#include "engine/ops/choice.h"

namespace mercer {

template <class X>
void Where::vjp(Vjp<X>& c, const Attrs&) {
    const Tensor mask = c.value(0);
    const X zero(Tensor::zeros({}, c.dtype()));
    if (c.wants(1)) c.give(1, sum_to(where(mask, c.g(), zero), c.in_shape(1)));
    if (c.wants(2)) c.give(2, sum_to(where(mask, zero, c.g()), c.in_shape(2)));
}

MERCER_VJP(Cast, c.give(0, cast(c.g(), gradient_dtype(a.from))))

MERCER_VALUE where(const Tensor& mask, const MERCER_VALUE& a, const MERCER_VALUE& b) {
    return perform<Where>({}, mask, a, b);
}
MERCER_VALUE cast(const MERCER_VALUE& x, DType dtype) {
    const Cast::Attrs attrs{x.dtype(), dtype};
    if (is_floating(gradient_dtype(dtype))) return perform<Cast>(attrs, x);
    return MERCER_VALUE(perform<Cast>(attrs, value_of(x)));  // steps
}

}  // namespace mercer
