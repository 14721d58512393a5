// Functions without a derivative, on Vars: those of the values.
#include "autograd/functions.h"

namespace mercer {

#define MERCER_COMPARISON(name)                                                    \
    Tensor name(const Var& a, const Var& b) { return name(a.value(), b.value()); } \
    Tensor name(const Var& a, double b) { return name(a.value(), b); }
MERCER_COMPARISON(equal)
MERCER_COMPARISON(not_equal)
MERCER_COMPARISON(less)
MERCER_COMPARISON(less_equal)
MERCER_COMPARISON(greater)
MERCER_COMPARISON(greater_equal)
#undef MERCER_COMPARISON

Tensor logical_and(const Var& a, const Var& b) { return logical_and(a.value(), b.value()); }
Tensor logical_or(const Var& a, const Var& b) { return logical_or(a.value(), b.value()); }
Tensor logical_xor(const Var& a, const Var& b) { return logical_xor(a.value(), b.value()); }
Tensor logical_not(const Var& x) { return logical_not(x.value()); }
Tensor isnan(const Var& x) { return isnan(x.value()); }
Tensor isinf(const Var& x) { return isinf(x.value()); }
Tensor isfinite(const Var& x) { return isfinite(x.value()); }

}  // namespace mercer
