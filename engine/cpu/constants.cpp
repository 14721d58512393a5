#include "engine/cpu/constants.h"

#include <sys/mman.h>

#include <cerrno>

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

bool map_constants() {
    static const bool mapped = [] {
        const int before = errno;
        const auto map = [](uintptr_t at, uintptr_t bytes) {
            return madvise(reinterpret_cast<void*>(at), bytes, MADV_POPULATE_READ) == 0;
        };
        constexpr uintptr_t page = 4096, piece = 16 * page;
        bool some = false;
        for (const char* const one : constants()) {
            const uintptr_t at = reinterpret_cast<uintptr_t>(one) / piece * piece;
            for (uintptr_t p = at - around_constants; p <= at + around_constants; p += piece)
                if (map(p, piece))
                    some = true;
                else  // a hole ends the call
                    for (uintptr_t q = p; q < p + piece; q += page) some |= map(q, page);
        }
        errno = before;
        return some;
    }();
    return mapped;
}

}  // namespace mercer::cpu

#else

namespace mercer::cpu {

std::array<const char*, 5> constants() { return {}; }
bool map_constants() { return false; }

}  // namespace mercer::cpu

#endif
