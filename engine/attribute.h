// Attributes of operations as data: for calls by name.
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

}  // namespace mercer
