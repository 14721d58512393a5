// Sorting along one axis. Results: the elements, and their indices (i64).
#pragma once

#include "engine/ops/op.h"

namespace mercer {

MERCER_OPERATION(Sort, "sort", Tensors<2>, output_bit_of(1), int axis; bool descending;)
MERCER_OPERATION(TopK, "topk", Tensors<2>, output_bit_of(1), int64_t k; int axis; bool largest;)

}  // namespace mercer
