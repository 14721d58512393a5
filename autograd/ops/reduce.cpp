// Operators, reductions and scans on Vars.
#include "engine/ops/reduce.inl"
#include "autograd/functions.h"
#include "autograd/record.h"
#include "engine/ops/require.h"
#include "engine/ops/scan.inl"

namespace mercer {

#define MERCER_VALUE Var
#define MERCER_REDUCE(Op, attrs, x) record<Op>(attrs, {&x})
#include "engine/ops/operators.inc"

Var cumsum(const Var& x, int axis, bool exclusive, bool reverse) {
    return record<Cumsum>({normal_axis("cumsum", axis, x.rank()), exclusive, reverse}, {&x});
}
Var cumprod(const Var& x, int axis, bool exclusive, bool reverse) {
    return record<Cumprod>({normal_axis("cumprod", axis, x.rank()), exclusive, reverse}, {&x});
}
std::pair<Var, Tensor> cummax(const Var& x, int axis, bool reverse) {
    const auto [values, indices] =
        record<Cummax>({normal_axis("cummax", axis, x.rank()), reverse}, {&x});
    return {values, indices.value()};
}
std::pair<Var, Tensor> cummin(const Var& x, int axis, bool reverse) {
    const auto [values, indices] =
        record<Cummin>({normal_axis("cummin", axis, x.rank()), reverse}, {&x});
    return {values, indices.value()};
}
Var linear_recurrence(const Var& a, const Var& b, int axis, bool reverse) {
    return record<LinearRecurrence>({normal_axis("linear_recurrence", axis, b.rank()), reverse},
                                    {&a, &b});
}

}  // namespace mercer
