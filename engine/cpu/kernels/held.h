// Values the compiler is to keep: left to itself it loads a register once for each use, and makes an address for each load.
#pragma once

#include "engine/simd/vec.h"

#define MERCER_UNROLL _Pragma("GCC unroll 32")

namespace mercer::MERCER_ISA {

/// v, a vector, stays in its register from here on.
template <class Vector>
MERCER_INLINE void hold_wide(Vector& v) {
#ifdef __aarch64__
    asm("" : "+w"(v));
#elif defined(__x86_64__)
    asm("" : "+v"(v));
#endif
}
template <class T>
MERCER_INLINE void hold(Vec<T>& v) {
#if MERCER_SIMD == MERCER_SIMD_SCALAR
    (void)v;
#else
    hold_wide(v.v);
#endif
}
/// p is an address to which others are relative.
template <class T>
MERCER_INLINE void hold(T*& p) {
    asm("" : "+r"(p));
}

}  // namespace mercer::MERCER_ISA
