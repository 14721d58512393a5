// Attributes of operations: as data, for calls by name; and what they choose among.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace mercer {

using Attribute = std::variant<bool, int64_t, double, std::string, std::vector<int64_t>>;

/// The names of a choice's values, in order: specialised beside each enum that is an attribute.
///   template <> inline constexpr auto choice_names<Padding> = std::to_array<std::string_view>({"valid", "same"});
template <class Enum>
inline constexpr std::array<std::string_view, 0> choice_names{};

/// What may follow a linear map, in the same pass: the pointwise operation of that name; none: nothing.
enum class Activation : uint8_t { none, relu, gelu, tanh, sigmoid };
template <>
inline constexpr auto choice_names<Activation> =
    std::to_array<std::string_view>({"none", "relu", "gelu", "tanh", "sigmoid"});

/// What a convolution adds at the border. valid: nothing. same: zeros such that the result has ⌈in / stride⌉ places, the odd
/// one behind.
enum class Padding : uint8_t { valid, same };
template <>
inline constexpr auto choice_names<Padding> = std::to_array<std::string_view>({"valid", "same"});

/// What borders hold: a value; the nearest element (1 2 3 | 3 3); the mirror image without the edge (1 2 3 | 2 1); the
/// other end (1 2 3 | 1 2).
enum class PadMode : uint8_t { constant, edge, reflect, circular };
template <>
inline constexpr auto choice_names<PadMode> =
    std::to_array<std::string_view>({"constant", "edge", "reflect", "circular"});

/// What becomes of the losses of all rows (or elements).
enum class LossReduction : uint8_t { mean, sum, none };
template <>
inline constexpr auto choice_names<LossReduction> = std::to_array<std::string_view>({"mean", "sum",
                                                                                     "none"});

}  // namespace mercer
