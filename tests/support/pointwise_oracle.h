// MPFR's word on every pointwise operation, by name.
#pragma once

#include <span>
#include <string_view>

namespace oracle {

/// f(x…) rounded to double from 200 bits. Throws std::logic_error for a name it does not know.
double pointwise(std::string_view name, std::span<const double> x);

}  // namespace oracle
