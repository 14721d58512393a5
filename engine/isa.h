// The instruction set that kernels run on: the best one this machine has, or
// MERCER_ISA=scalar|avx2|avx512|neon.
#pragma once

#include <atomic>
#include <string_view>
#include <vector>

#include "engine/export.h"

namespace mercer {

/// scalar_fma is the scalar form compiled with -mfma; the same bits, faster. MERCER_ISA=scalar
/// picks it where it runs. avx2 needs fma, bmi and bmi2 as well; avx512 f, dq, bw, vl and all of these.
enum class Isa { scalar, scalar_fma, avx2, avx512, neon };
inline constexpr int isa_count = 5;

MERCER_API std::string_view name_of(Isa isa);
/// Whether the library was built with it and the CPU and the operating system support it.
MERCER_API bool is_available(Isa isa);
MERCER_API std::vector<Isa> available_isas();
namespace detail {
MERCER_API extern std::atomic<int> current_isa;  // negative until it is asked for
MERCER_API Isa first_isa();
}  // namespace detail
/// The one in use. Throws DeviceError when MERCER_ISA names an unknown or unavailable one.
inline Isa isa() {
    const int i = detail::current_isa.load(std::memory_order_relaxed);
    return i < 0 ? detail::first_isa() : Isa(i);
}
/// Uses another from now on, in all threads (for tests and benches): no operation may be running. DeviceError if unavailable.
MERCER_API void set_isa(Isa isa);

}  // namespace mercer
