// The pages of kernels' constants, mapped before they are asked for.
#pragma once

#include <array>
#include <cstdint>

namespace mercer::cpu {

/// A compiler selects a constant by a load under a mask. Where a rare case does not come the mask is empty, and the load
/// reads nothing: so it never maps the constant's page, and each such load on a page that is not mapped costs the processor
/// some 50 cycles (seen on Granite Rapids: cos of 4 Mi in f32 in 4.0 ms instead of 1.8). Maps all pages of constants, once, in
/// 40 to 150 µs. False where the system cannot (Linux before 5.14, others than x86-64).
bool map_constants();

/// For tests: one address among the constants of each size, and how far around it pages are mapped, in bytes.
inline constexpr int64_t around_constants = int64_t{256} << 10;
std::array<const char*, 5> constants();

}  // namespace mercer::cpu
