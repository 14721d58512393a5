// Dropout is linear and its own adjoint.
#pragma once

#include "engine/ops/dropout.h"

namespace mercer {

template <class X>
void Dropout::vjp(Vjp<X>& c) {
    const Attrs& attrs = c.template attrs<Attrs>();
    c.give(0, dropout(c.g(), attrs.p, attrs.key));
}

MERCER_VALUE dropout(const MERCER_VALUE& x, double p, Key key) { return perform<Dropout>({p, key}, x); }

}  // namespace mercer
