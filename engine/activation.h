// What may follow a linear map, in the same pass.
#pragma once

#include "engine/attribute.h"

namespace mercer {

/// The pointwise operation of that name; none: nothing.
enum class Activation : uint8_t { none, relu, gelu, tanh, sigmoid };
template <>
inline constexpr auto choice_names<Activation> =
    std::to_array<std::string_view>({"none", "relu", "gelu", "tanh", "sigmoid"});

}  // namespace mercer
