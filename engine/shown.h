// Numbers in messages.
#pragma once

#include <charconv>
#include <concepts>
#include <string>

namespace mercer {

/// In as few digits as tell it from its neighbours: 0.1, 1e-09, inf.
template <std::floating_point T>
std::string shown(T x) {
    char text[32];
    return {text, std::to_chars(text, text + sizeof text, x).ptr};
}

}  // namespace mercer
