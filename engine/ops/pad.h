// Borders of one value around a tensor.
#pragma once

#include <span>

#include "engine/attribute.h"
#include "engine/ops/op.h"

namespace mercer {

/// What borders hold: a value; the nearest element (1 2 3 | 3 3); the mirror image without the edge (1 2 3 | 2 1); the
/// other end (1 2 3 | 1 2).
enum class PadMode : uint8_t { constant, edge, reflect, circular };
template <>
inline constexpr auto choice_names<PadMode> =
    std::to_array<std::string_view>({"constant", "edge", "reflect", "circular"});

/// out = value but for x at `before`, in `shape`.
MERCER_OPERATION(Pad, "pad", Tensor, 0, Shape shape, before; double value;)

/// Checks `before` and `after` (a size for each axis) against x.
MERCER_API Pad::Attrs pad_range(const Shape& x, std::span<const int64_t> before,
                                std::span<const int64_t> after, double value);

/// The operation itself, without a tape or on one.
Tensor padded(const Tensor& x, const Pad::Attrs& attrs);

/// Where the elements of one padded axis of size n come from.
MERCER_API Tensor border_index(int64_t n, int64_t before, int64_t after, PadMode mode);

}  // namespace mercer
