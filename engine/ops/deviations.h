// x − mean x in derivatives.
#pragma once

#include <type_traits>
#include <vector>

#include "engine/functions.h"
#include "engine/ops/reduce.h"

namespace mercer {

inline std::vector<int> axes_of(unsigned mask) {
    std::vector<int> axes;
    for (int i = 0; i < Dims::max_rank; ++i)
        if (mask & (1u << i)) axes.push_back(i);
    return axes;
}

/// x − mean x over the axes of a mask, to the last digits of x however far its mean is from zero.
template <class X>
X deviations(const X& x, unsigned axes) {
    if constexpr (std::is_same_v<X, Tensor>) {
        return x - mean_of(x, axes);
    } else {
        const X near = x - X(mean_of(x.value(), axes));
        return near - mean(near, std::span<const int>(axes_of(axes)), true);
    }
}

}  // namespace mercer
