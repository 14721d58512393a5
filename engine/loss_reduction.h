// What becomes of the losses of all rows (or elements).
#pragma once

#include "engine/attribute.h"

namespace mercer {

enum class LossReduction : uint8_t { mean, sum, none };
template <>
inline constexpr auto choice_names<LossReduction> = std::to_array<std::string_view>({"mean", "sum",
                                                                                     "none"});

}  // namespace mercer
