// What AVX2 and AVX-512 call alike but for the width of a register: MERCER_MM(op) is _mm256_op or _mm512_op.
#pragma once

#include <immintrin.h>

#include "engine/simd/register.h"

// MERCER_MM_ALL(op, …): of those that in _mm512_op take an undefined register for lanes that they leave out, the form
// that leaves out none, or the compiler would compute anew what it has.
#if MERCER_REGISTER_BYTES == 64
#define MERCER_MM(op) _mm512_##op
#define MERCER_MM_ALL(op, ...) _mm512_maskz_##op(-1, __VA_ARGS__)
#else
#define MERCER_MM(op) _mm256_##op
#define MERCER_MM_ALL(op, ...) _mm256_##op(__VA_ARGS__)
#endif

namespace mercer::MERCER_ISA::native {

// The compiler does not always find the larger and the smaller.
#define MERCER_X86(T, suffix)                                                                 \
    MERCER_INLINE Register<T> fma(Register<T> a, Register<T> b, Register<T> c) {              \
        return MERCER_MM(fmadd_##suffix)(a, b, c);                                            \
    }                                                                                         \
    MERCER_INLINE Register<T> sqrt(Register<T> a) { return MERCER_MM_ALL(sqrt_##suffix, a); } \
    MERCER_INLINE Register<T> larger(Register<T> a, Register<T> b) {                          \
        return MERCER_MM_ALL(max_##suffix, a, b);                                             \
    }                                                                                         \
    MERCER_INLINE Register<T> smaller(Register<T> a, Register<T> b) {                         \
        return MERCER_MM_ALL(min_##suffix, a, b);                                             \
    }                                                                                         \
    MERCER_INLINE Register<T> floor(Register<T> a) { return MERCER_MM(floor_##suffix)(a); }
MERCER_X86(float, ps)
MERCER_X86(double, pd)
#undef MERCER_X86
#undef MERCER_MM
#undef MERCER_MM_ALL

}  // namespace mercer::MERCER_ISA::native
