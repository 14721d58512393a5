// Registers of one number: the form every formula has on any machine, and in a CUDA kernel.
#pragma once

#include "engine/simd/isa.h"

namespace mercer::MERCER_ISA::native {

template <class T>
using Register = T;
/// The outcome of a comparison.
struct Flag {
    bool on;
    MERCER_INLINE friend Flag operator&(Flag a, Flag b) { return {a.on && b.on}; }
    MERCER_INLINE friend Flag operator|(Flag a, Flag b) { return {a.on || b.on}; }
    MERCER_INLINE friend Flag operator~(Flag a) { return {!a.on}; }
    MERCER_INLINE operator bool() const { return on; }
};
template <class T>
using MaskRegister = Flag;
template <class T>
using Wrapping = Unsigned<T>;

/// The same bits as another type.
template <class To, class From>
MERCER_INLINE To as(From x) {
    static_assert(sizeof(To) == sizeof(From));
    To y;
    __builtin_memcpy(&y, &x, sizeof y);
    return y;
}
template <class T>
MERCER_INLINE T load(const T* p) {
    return *p;
}
template <class T>
MERCER_INLINE T load(const T* p, int count, T fill) {
    return count > 0 ? *p : fill;
}
template <class T>
MERCER_INLINE void store(T* p, T v) {
    *p = v;
}
template <class T>
MERCER_INLINE void store(T* p, int count, T v) {
    if (count > 0) *p = v;
}
template <class T>
MERCER_INLINE void stream(T* p, T v) {
    *p = v;
}
MERCER_INLINE bool any(Flag mask) { return mask.on; }

#if defined(__CUDA_ARCH__)
#define MERCER_SCALAR(device, host) device
#else
#define MERCER_SCALAR(device, host) host
#endif
MERCER_INLINE float fma(float a, float b, float c) {
    return MERCER_SCALAR(__fmaf_rn, __builtin_fmaf)(a, b, c);
}
MERCER_INLINE double fma(double a, double b, double c) {
    return MERCER_SCALAR(__fma_rn, __builtin_fma)(a, b, c);
}
MERCER_INLINE float sqrt(float a) { return MERCER_SCALAR(__fsqrt_rn, __builtin_sqrtf)(a); }
MERCER_INLINE double sqrt(double a) { return MERCER_SCALAR(__dsqrt_rn, __builtin_sqrt)(a); }
#undef MERCER_SCALAR

}  // namespace mercer::MERCER_ISA::native
