// Dropout is linear and its own adjoint. Included by autograd/ops/rows.cpp only.
#pragma once

#include "engine/ops/dropout.h"

namespace mercer {

template <class X>
void Dropout::vjp(Vjp<X>& c) {
    const Attrs& attrs = c.template attrs<Attrs>();
    c.give(0, dropout(c.g(), attrs.p, attrs.key));
}

}  // namespace mercer
