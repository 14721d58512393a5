// Values the compiler is to keep: left to itself it loads a register once for each use, and makes an address for each load.
#pragma once

#include "engine/simd/vec.h"

namespace mercer::MERCER_ISA {

/// v stays in its register from here on.
template <class T>
MERCER_INLINE void hold(Vec<T>& v) {
#if MERCER_SIMD == MERCER_SIMD_SCALAR
    (void)v;
#elif defined(__aarch64__)
    asm("" : "+w"(v.v));
#else
    asm("" : "+v"(v.v));
#endif
}
/// p is an address to which others are relative.
template <class T>
MERCER_INLINE void hold(T*& p) {
    asm("" : "+r"(p));
}

}  // namespace mercer::MERCER_ISA
