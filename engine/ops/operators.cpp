// Operators and reductions on tensors.
#include "engine/functions.h"
#include "engine/ops/reduce.h"
#include "engine/ops/require.h"

namespace mercer {

#define MERCER_VALUE Tensor
#include "engine/ops/operators.inc"

#define MERCER_OPERATOR(symbol, function)                                                     \
    Tensor operator symbol(Tensor&& a, const Tensor& b) { return function(std::move(a), b); } \
    Tensor operator symbol(const Tensor& a, Tensor&& b) { return function(a, std::move(b)); } \
    Tensor operator symbol(Tensor&& a, Tensor&& b) {                                          \
        return function(std::move(a), std::move(b));                                          \
    }                                                                                         \
    Tensor operator symbol(Tensor&& a, double b) {                                            \
        return function(std::move(a), number(#function, b, a));                               \
    }                                                                                         \
    Tensor operator symbol(double a, Tensor&& b) {                                            \
        return function(number(#function, a, b), std::move(b));                               \
    }
MERCER_OPERATOR(+, add)
MERCER_OPERATOR(-, sub)
MERCER_OPERATOR(*, mul)
MERCER_OPERATOR(/, div)
#undef MERCER_OPERATOR
Tensor operator-(Tensor&& x) { return neg(std::move(x)); }

}  // namespace mercer
