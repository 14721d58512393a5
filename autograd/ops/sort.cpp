// Sorting on Vars.
#include "engine/ops/sort.inl"
#include "autograd/functions.h"
#include "autograd/record.h"

namespace mercer {

std::pair<Var, Tensor> sort(const Var& x, int axis, bool descending) {
    const auto [values, indices] =
        record<Sort>({normal_axis("sort", axis, x.rank()), descending}, {&x});
    return {values, indices.value()};
}
Tensor argsort(const Var& x, int axis, bool descending) {
    return argsort(x.value(), axis, descending);
}
std::pair<Var, Tensor> topk(const Var& x, int64_t k, int axis, bool largest) {
    const auto [values, indices] =
        record<TopK>({k, normal_axis("topk", axis, x.rank()), largest}, {&x});
    return {values, indices.value()};
}

Tensor searchsorted(const Tensor& boundaries, const Var& x, bool right) {
    return searchsorted(boundaries, x.value(), right);
}

}  // namespace mercer
