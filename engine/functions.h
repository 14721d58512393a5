// Operations on tensors, eager: each returns a new value (or a view) at once.
#pragma once

#include <initializer_list>
#include <span>
#include <utility>
#include <vector>

#include "engine/padding.h"
#include "engine/tensor.h"

namespace mercer {

#define MERCER_VALUE Tensor
#include "engine/functions.inc"
#include "engine/pointwise_functions.inc"
#undef MERCER_VALUE

/// Written into `out`, which must have the product's shape and dtype and overlap neither operand.
MERCER_API void matmul_into(Tensor& out, const Tensor& a, const Tensor& b);

}  // namespace mercer
