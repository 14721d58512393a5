// NEON (AArch64): 16-byte registers.
#pragma once

#include <arm_neon.h>

#define MERCER_REGISTER_BYTES 16
#include "engine/simd/register.h"

namespace mercer::MERCER_ISA::native {

MERCER_INLINE Register<float> fma(Register<float> a, Register<float> b, Register<float> c) {
    return vfmaq_f32(c, a, b);
}
MERCER_INLINE Register<double> fma(Register<double> a, Register<double> b, Register<double> c) {
    return vfmaq_f64(c, a, b);
}
MERCER_INLINE Register<float> sqrt(Register<float> a) { return vsqrtq_f32(a); }
MERCER_INLINE Register<double> sqrt(Register<double> a) { return vsqrtq_f64(a); }
MERCER_INLINE Register<float> floor(Register<float> a) { return vrndmq_f32(a); }

// NEON has no masked memory access: lane by lane, for the tail only.
template <class T>
MERCER_INLINE Register<T> load(const T* p, int count, Register<T> fill) {
    for (int i = 0; i < int(16 / sizeof(T)); ++i)
        if (i < count) fill[i] = p[i];
    return fill;
}
template <class T>
MERCER_INLINE void store(T* p, int count, Register<T> v) {
    for (int i = 0; i < int(16 / sizeof(T)); ++i)
        if (i < count) p[i] = v[i];
}
template <class T>
MERCER_INLINE void stream(T* p, Register<T> v) {
    __builtin_memcpy(p, &v, sizeof v);
}

/// Half `half` of four floats as doubles, and two such halves rounded back.
template <int half>
MERCER_INLINE Register<double> widen(Register<float> a) {
    return half ? vcvt_high_f64_f32(a) : vcvt_f64_f32(vget_low_f32(a));
}
MERCER_INLINE Register<float> narrow(Register<double> low, Register<double> high) {
    return vcvt_high_f32_f64(vcvt_f32_f64(low), high);
}

template <class R>
MERCER_INLINE bool any(R mask) {
    return vmaxvq_u32(reinterpret_cast<uint32x4_t>(mask)) != 0;
}

}  // namespace mercer::MERCER_ISA::native
