// The floating-point unit's control bits (rounding, flushing, traps), without the sticky flags.
#pragma once

#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

inline unsigned float_control() {
#if defined(__x86_64__)
    return _mm_getcsr() & ~0x3fu;  // without the sticky flags
#elif defined(__aarch64__)
    unsigned long fpcr;
    __asm__ volatile("mrs %0, fpcr" : "=r"(fpcr));
    return unsigned(fpcr);
#else
    return 0;
#endif
}
