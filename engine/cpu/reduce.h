// Reductions in canonical order (canonical.h). The reduced axes may be any; the order of a sum, and so its bits, depends
// on the shape only, not on strides (but of moments): neighbouring axes are one run in row-major order, groups that are no neighbours
// are reduced one after the other, the last first. Memory traffic: the input once, the output once; only where strides
// of neighbours do not merge, or no stride is 1, is a row-major copy made first.
#pragma once

#include <array>

#include "engine/cpu/reduce_table.h"
#include "engine/tensor.h"

namespace mercer::cpu {

/// Longer runs are cut here, their results reduced in the same way. A constant: the order of sums
/// must not depend on threads or caches.
inline constexpr int64_t long_chunk = 1 << 14;

/// Reduced axes with size 1.
MERCER_API Shape kept_shape(Shape shape, unsigned axes);
/// Over the axes in the mask, which become size 1. Without axes: each element on its own.
Tensor reduce(Reduction op, const Tensor& x, unsigned axes);
/// any and all give bool, count gives i64.
Tensor reduce(Counting op, const Tensor& x, unsigned axes);
/// The index (i64) in the row-major run of the reduced axes.
Tensor arg(Extremum op, const Tensor& x, unsigned axes);
/// m = Σ x/n (only if asked for) and Σ(x − m)², in one read of x. Along memory m comes first, across it parts are joined:
/// squares of runs and of columns may differ in their last places.
std::array<Tensor, 2> moments(const Tensor& x, unsigned axes, bool with_mean);

}  // namespace mercer::cpu
