// Borders of one value around a tensor.
#pragma once

#include <span>

#include "engine/attribute.h"
#include "engine/ops/op.h"

namespace mercer {

/// out = x at `before`, in `shape`, and borders.
MERCER_OPERATION(Pad, "pad", Tensor, 0, Shape shape, before; PadMode mode; double value;)
/// The same into `out`; `border` is the constant. Memory traffic: out once, and lines at its borders again.
void copy_with_borders(const Tensor& out, const Tensor& x, const Shape& before, PadMode mode,
                       const Tensor& border);

/// Checks `before` and `after` (a size for each axis) against x.
MERCER_API Pad::Attrs pad_range(const Shape& x, std::span<const int64_t> before,
                                std::span<const int64_t> after, PadMode mode, double value);

}  // namespace mercer
