// Dropout is linear and its own adjoint.
#pragma once

#include "engine/ops/dropout.h"

namespace mercer {

MERCER_VJP(Dropout, c.give(0, dropout(c.g(), a.p, a.key)))

MERCER_VALUE dropout(const MERCER_VALUE& x, double p, Key key) { return perform<Dropout>({p, key}, x); }

}  // namespace mercer
