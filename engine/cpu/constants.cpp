#include "engine/cpu/constants.h"

#include <sys/mman.h>

#if defined(__x86_64__) && defined(__linux__) && defined(MADV_POPULATE_READ)

// Compilers put constants of a size into a section of its own, which the linker makes one of all files' before it merges
// what is equal.
#define MERCER_CONSTANT(size)                                                          \
    asm(".pushsection .rodata.cst" #size ",\"aM\",@progbits," #size "\n.balign " #size \
        "\n.globl mercer_constant_" #size "\n.hidden mercer_constant_" #size           \
        "\nmercer_constant_" #size ": .fill " #size ",1,0x6d\n.popsection");           \
    extern "C" __attribute__((visibility("hidden"))) const char mercer_constant_##size[];
MERCER_CONSTANT(4)
MERCER_CONSTANT(8)
MERCER_CONSTANT(16)
MERCER_CONSTANT(32)
MERCER_CONSTANT(64)
#undef MERCER_CONSTANT

namespace mercer::cpu {

std::array<const char*, 5> constants() {
    return {mercer_constant_4, mercer_constant_8, mercer_constant_16, mercer_constant_32,
            mercer_constant_64};
}

void map_constants() {
    static const bool mapped = [] {
        // Piece by piece: where there is no memory the call ends.
        constexpr uintptr_t piece = 64 << 10;
        for (const char* const one : constants()) {
            const uintptr_t at = reinterpret_cast<uintptr_t>(one) / piece * piece;
            for (uintptr_t p = at - around_constants; p <= at + around_constants; p += piece)
                madvise(reinterpret_cast<void*>(p), piece, MADV_POPULATE_READ);
        }
        return true;
    }();
    static_cast<void>(mapped);
}

}  // namespace mercer::cpu

#else

namespace mercer::cpu {

std::array<const char*, 5> constants() { return {}; }
void map_constants() {}

}  // namespace mercer::cpu

#endif
