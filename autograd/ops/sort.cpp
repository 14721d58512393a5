// Sorting on Vars.
#include "autograd/functions.h"
#include "autograd/record.h"

#define MERCER_VALUE Var
#include "engine/ops/sort.inl"

namespace mercer {

Tensor argsort(const Var& x, int axis, bool descending) {
    return argsort(x.value(), axis, descending);
}
Tensor searchsorted(const Tensor& boundaries, const Var& x, bool right) {
    return searchsorted(boundaries, x.value(), right);
}

}  // namespace mercer
