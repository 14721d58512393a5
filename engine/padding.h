// How a convolution treats the border.
#pragma once

#include "engine/attribute.h"

namespace mercer {

/// valid: none is added. same: zeros such that the result has ⌈in / stride⌉ places, the odd one behind.
enum class Padding : uint8_t { valid, same };
template <>
inline constexpr auto choice_names<Padding> = std::to_array<std::string_view>({"valid", "same"});

}  // namespace mercer
