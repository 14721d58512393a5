#include "engine/isa.h"

#include <cstdlib>

#include "engine/cpu/constants.h"
#include "engine/error.h"
#include "engine/log.h"

namespace mercer {

// __builtin_cpu_supports asks CPUID and, through XGETBV, whether the operating system saves the
// registers.
bool is_available(Isa isa) {
    switch (isa) {
        case Isa::scalar: return true;
#if defined(__x86_64__)
        case Isa::scalar_fma: return __builtin_cpu_supports("fma");
        case Isa::avx2:
            return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
                   __builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2");
        case Isa::avx512:
            return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
                   __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl") &&
                   is_available(Isa::avx2);
#elif defined(__aarch64__)
        case Isa::neon: return true;
#endif
        default: return false;
    }
}

namespace {

Isa choose() {
    const char* forced = std::getenv("MERCER_ISA");
    if (!forced || !*forced) {
        for (Isa isa : {Isa::avx512, Isa::avx2, Isa::neon, Isa::scalar_fma})
            if (is_available(isa)) return isa;
        return Isa::scalar;
    }
    if (std::string_view(forced) == "scalar")
        return is_available(Isa::scalar_fma) ? Isa::scalar_fma : Isa::scalar;
    std::string known;
    for (int i = 0; i < isa_count; ++i) {
        const Isa isa = Isa(i);
        if (name_of(isa) == forced) {
            if (is_available(isa)) return isa;
            throw DeviceError("isa", "MERCER_ISA=", forced, " is not available on this machine");
        }
        if (is_available(isa)) known += " " + std::string(name_of(isa));
    }
    throw DeviceError("isa", "MERCER_ISA='", forced, "' is unknown; this machine has:", known);
}

}  // namespace

std::string_view name_of(Isa isa) {
    constexpr std::string_view names[] = {"scalar", "scalar_fma", "avx2", "avx512", "neon"};
    return names[int(isa)];
}

std::vector<Isa> available_isas() {
    std::vector<Isa> found;
    for (int i = 0; i < isa_count; ++i)
        if (is_available(Isa(i))) found.push_back(Isa(i));
    return found;
}

std::atomic<int> detail::current_isa{-1};

Isa detail::first_isa() {
    const Isa found = choose();
    if (found == Isa::avx512) cpu::map_constants();
    int none = -1;
    if (current_isa.compare_exchange_strong(none, int(found)))  // else it was set meanwhile
        log(LogLevel::info, "kernels run on " + std::string(name_of(found)));
    // The host's callback may have set another.
    return Isa(current_isa.load(std::memory_order_relaxed));
}

void set_isa(Isa isa) {
    if (!is_available(isa)) throw DeviceError("set_isa", isa, " is not available on this machine");
    if (isa == Isa::avx512) cpu::map_constants();
    detail::current_isa.store(int(isa), std::memory_order_relaxed);
}

}  // namespace mercer
