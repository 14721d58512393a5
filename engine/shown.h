// Text of messages.
#pragma once

#include <charconv>
#include <concepts>
#include <string>
#include <string_view>

namespace mercer {

namespace detail {
template <class T>
void show(std::string& text, const T& part) {
    if constexpr (std::convertible_to<const T&, std::string_view>) {
        text += std::string_view(part);
    } else if constexpr (std::same_as<T, char>) {
        text += part;
    } else if constexpr (std::floating_point<T>) {
        char digits[32];
        text.append(digits, std::to_chars(digits, digits + sizeof digits, part).ptr);
    } else if constexpr (std::integral<T>) {
        text += std::to_string(part);
    } else if constexpr (requires { part.dtype(), part.shape(); }) {
        text += part.defined() ? to_string(part.dtype(), part.shape()) : "undefined";
    } else if constexpr (requires { name_of(part); }) {
        text += name_of(part);
    } else {
        text += to_string(part);
    }
}
}  // namespace detail

/// The parts one after another: text; numbers, in as few digits as tell them from their neighbours (0.1, 1e-09, inf);
/// dtypes and what else has a name; shapes, "(2,3)"; of a tensor both, "f32(2,3)", or "undefined".
template <class... Parts>
std::string shown(const Parts&... parts) {
    std::string text;
    (detail::show(text, parts), ...);
    return text;
}

}  // namespace mercer
