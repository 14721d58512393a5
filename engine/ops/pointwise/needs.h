// What the derivative of a pointwise formula reads: bit i for input i, needs_output for the result.
#pragma once

namespace mercer {

inline constexpr unsigned needs_output = 1u << 7;

}  // namespace mercer
