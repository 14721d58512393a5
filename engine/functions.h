// Operations on tensors, eager: each returns a new value (or a view) at once.
#pragma once

#include <array>
#include <initializer_list>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/attribute.h"
#include "engine/random.h"
#include "engine/tensor.h"

namespace mercer {

#define MERCER_VALUE Tensor
#include "engine/functions.inc"
#include "engine/pointwise_functions.inc"
#undef MERCER_VALUE

// The same of temporaries: the result takes over the memory of an operand that dies, if the operand alone holds it, of our own,
// dense, and of the result's shape. Such an operand is undefined afterwards (if the operation throws, its values are lost).
#include "engine/pointwise_reuse.inc"
#define MERCER_OPERATOR(symbol)                                      \
    MERCER_API Tensor operator symbol(Tensor&& a, const Tensor& b);  \
    MERCER_API Tensor operator symbol(const Tensor& a, Tensor&& b);  \
    MERCER_API Tensor operator symbol(Tensor&& a, Tensor&& b);       \
    MERCER_API Tensor operator symbol(Tensor&& a, double b);         \
    MERCER_API Tensor operator symbol(double a, Tensor&& b);
MERCER_OPERATOR(+)
MERCER_OPERATOR(-)
MERCER_OPERATOR(*)
MERCER_OPERATOR(/)
#undef MERCER_OPERATOR
MERCER_API Tensor operator-(Tensor&& x);

/// Written into `out`, which must have the product's shape and dtype and overlap neither operand.
MERCER_API void matmul_into(Tensor& out, const Tensor& a, const Tensor& b);
/// ids [...] (i64) to [..., classes]: 1 at place ids[...], 0 elsewhere. ValueError for an id outside.
MERCER_API Tensor one_hot(const Tensor& ids, int64_t classes, DType dtype = DType::f32);

}  // namespace mercer
