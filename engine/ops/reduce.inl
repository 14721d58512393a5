// Adjoints of reductions. Included by autograd/ops/reduce.cpp only.
#pragma once

#include "engine/ops/reduce.h"

namespace mercer {

/// The cotangent of a reduction repeated over what was reduced.
template <class X>
X spread(Vjp<X>& c) {
    const unsigned axes = c.template attrs<ReduceAttrs>().axes;
    return broadcast_to(reshape(c.g(), kept_shape(c.in_shape(0), axes)), c.in_shape(0));
}

template <class X>
void Sum::vjp(Vjp<X>& c) {
    c.give(0, spread(c));
}

template <class X>
void Mean::vjp(Vjp<X>& c) {
    c.give(0, spread(c) * (1.0 / double(reduced_count(c.in_shape(0),
                                                      c.template attrs<ReduceAttrs>().axes))));
}

/// Equal extrema share: g · [x = y] / #[x = y]
template <class X>
void extremum_vjp(Vjp<X>& c) {
    const unsigned axes = c.template attrs<ReduceAttrs>().axes;
    const Shape kept = kept_shape(c.in_shape(0), axes);
    const Tensor hit = equal(c.value(0), reshape(c.out_value(), kept));
    const Tensor hits = sum_to(cast(hit, c.dtype()), kept);
    const X share = broadcast_to(reshape(c.g(), kept) / X(hits), c.in_shape(0));
    c.give(0, where(hit, share, X(Tensor::zeros({}, c.dtype()))));
}

template <class X>
void Max::vjp(Vjp<X>& c) {
    extremum_vjp(c);
}
template <class X>
void Min::vjp(Vjp<X>& c) {
    extremum_vjp(c);
}

}  // namespace mercer
