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

#define MERCER_COUNTING(name)                                         \
    Tensor name(const Var& x, std::span<const int> axes, bool keep) { \
        return name(x.value(), axes, keep);                           \
    }                                                                 \
    Tensor name(const Var& x) { return name(x.value()); }
MERCER_COUNTING(any)
MERCER_COUNTING(all)
MERCER_COUNTING(count_nonzero)
#undef MERCER_COUNTING

Tensor argmax(const Var& x, int axis, bool keep) { return argmax(x.value(), axis, keep); }
Tensor argmin(const Var& x, int axis, bool keep) { return argmin(x.value(), axis, keep); }
Tensor argmax(const Var& x) { return argmax(x.value()); }
Tensor argmin(const Var& x) { return argmin(x.value()); }

}  // namespace mercer
