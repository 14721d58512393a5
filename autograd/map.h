// map() on Vars: one's own formula on the tape, with exact first and second derivatives. See
// engine/map.h.
#pragma once

#include "autograd/ops/pointwise.h"
#include "engine/map.h"

namespace mercer {

template <class F, class... X>
requires any_var<X...> Var map(F f, const X&... x) {
    return [&](const auto&... v) {
        const Var* const in[] = {&v...};
        return record_pointwise(detail::map_op<F, int(sizeof...(X))>(), pointwise_rule(), in, &f,
                                sizeof f);
    }(as_var(x)...);
}

/// The sum of it over all elements, none of them stored.
template <class F, class... X>
requires any_var<X...> Var map_sum(F f, const X&... x) {
    return [&](const auto&... v) {
        const Var* const in[] = {&v...};
        return record_pointwise_sum(detail::map_op<F, int(sizeof...(X))>(), in,
                                    std::max({v.rank()...}), &f, sizeof f);
    }(as_var(x)...);
}

template <class... X>
requires any_var<X...> Var map(const PointwiseOp& op, const X&... x) {
    return [&](const auto&... v) {
        const Var* const in[] = {&v...};
        return record_pointwise(op, pointwise_rule(), in);
    }(as_var(x)...);
}

template <class... X>
requires any_var<X...> Var map_sum(const PointwiseOp& op, const X&... x) {
    return [&](const auto&... v) {
        const Var* const in[] = {&v...};
        return record_pointwise_sum(op, in, std::max({v.rank()...}));
    }(as_var(x)...);
}

}  // namespace mercer
