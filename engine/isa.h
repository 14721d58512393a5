// The instruction set that kernels run on: the best one this machine has, or
// MERCER_ISA=scalar|avx2|avx512|neon.
#pragma once

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
/// The one in use. Throws DeviceError when MERCER_ISA names an unknown or unavailable one.
MERCER_API Isa isa();
/// Uses another from now on, in all threads (for tests and benches): no operation may be running. DeviceError if unavailable.
MERCER_API void set_isa(Isa isa);

}  // namespace mercer
