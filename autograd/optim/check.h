// Checks of options: ValueError names the option, its value and its range.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>
#include <string>

#include "engine/error.h"

namespace mercer {

inline void check_option(const char* operation, const char* option, double value, bool fits,
                         const char* range) {
    if (!fits) throw ValueError(operation, option, " = ", value, " is out of range; needs ", range);
}
inline void check_not_negative(const char* operation, const char* option, double value) {
    check_option(operation, option, value, value >= 0 && std::isfinite(value), "0 or more");
}
inline void check_positive(const char* operation, const char* option, double value) {
    check_option(operation, option, value, value > 0 && std::isfinite(value), "more than 0");
}
/// In [0, 1).
inline void check_fraction(const char* operation, const char* option, double value) {
    check_option(operation, option, value, value >= 0 && value < 1, "0 or more, below 1");
}
inline void check_at_least(const char* operation, const char* option, int64_t value,
                           int64_t least) {
    if (value < least)
        throw ValueError(operation, option, " = ", value, " is out of range; needs ", least,
                         " or more");
}

}  // namespace mercer
