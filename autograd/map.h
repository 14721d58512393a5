// map() on Vars: one's own formula on the tape, with exact first and second derivatives. See
// engine/map.h.
#pragma once

#include "autograd/ops/pointwise.h"
#include "engine/map.h"

namespace mercer {

template <class F, class... X>
requires any_var<X...> Var map(const F& f, const X&... x) {
    const auto formula = detail::formula_of<int(sizeof...(X))>(f);
    return [&](const auto&... v) {
        const Var* const in[] = {&v...};
        return record_pointwise(formula.op, pointwise_rule(), in, formula.state, formula.bytes);
    }(as_var(x)...);
}

/// The sum of it over all elements, none of them stored.
template <class F, class... X>
requires any_var<X...> Var map_sum(const F& f, const X&... x) {
    const auto formula = detail::formula_of<int(sizeof...(X))>(f);
    return [&](const auto&... v) {
        const Var* const in[] = {&v...};
        return record_pointwise_sum(formula.op, in, std::max({v.rank()...}), formula.state,
                                    formula.bytes);
    }(as_var(x)...);
}

}  // namespace mercer
