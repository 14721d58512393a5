// The functions of operations and the operators, of both the text that Vars share, on tensors.
#include "engine/functions.h"
#include "engine/error.h"
#include "engine/ops/reduce.h"
#include "engine/ops/require.h"

#define MERCER_VALUE Tensor
#include "engine/ops/choice.inl"
#include "engine/ops/convolution.inl"
#include "engine/ops/dropout.inl"
#include "engine/ops/entmax.inl"
#include "engine/ops/index.inl"
#include "engine/ops/layout.inl"
#include "engine/ops/linalg.inl"
#include "engine/ops/matmul.inl"
#include "engine/ops/norm.inl"
#include "engine/ops/recurrent.inl"
#include "engine/ops/scan.inl"
#include "engine/ops/segment.inl"
#include "engine/ops/softmax.inl"
#include "engine/ops/sort.inl"

namespace mercer {

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
