// What was moved out is moved back.
#pragma once

#include "engine/ops/sort.h"

namespace mercer {

MERCER_VJP(Sort, give_back(c, a.axis))
MERCER_VJP(TopK, give_back(c, a.axis))

std::pair<MERCER_VALUE, Tensor> sort(const MERCER_VALUE& x, int axis, bool descending) {
    return with_indices(perform_along<Sort>(axis, x, descending));
}
std::pair<MERCER_VALUE, Tensor> topk(const MERCER_VALUE& x, int64_t k, int axis, bool largest) {
    return with_indices(perform<TopK>({k, normal_axis("topk", axis, x.rank()), largest}, x));
}

}  // namespace mercer
