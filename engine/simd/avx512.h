// AVX-512 (F, DQ, BW, VL): 64-byte registers.
#pragma once

#define MERCER_REGISTER_BYTES 64
#include "engine/simd/x86.h"

namespace mercer::MERCER_ISA::native {

constexpr int second_if_nan = 0x11;  // of quiet and of signalling ones
MERCER_INLINE Register<float> or_nan(Register<float> a, Register<float> b) {
    return _mm512_fixupimm_ps(a, b, _mm512_set1_epi32(second_if_nan), 0);
}
MERCER_INLINE Register<double> or_nan(Register<double> a, Register<double> b) {
    return _mm512_fixupimm_pd(a, b, _mm512_set1_epi64(second_if_nan), 0);
}

/// The k-mask of the first `count` lanes, without a branch.
MERCER_INLINE unsigned first(int count) { return _bzhi_u32(~0u, unsigned(count)); }

template <class T>
MERCER_INLINE Register<T> load(const T* p, int count, Register<T> fill) {
    const unsigned m = first(count);
    if constexpr (sizeof(T) == 4)
        return reinterpret_cast<Register<T>>(
            _mm512_mask_loadu_epi32(reinterpret_cast<__m512i>(fill), __mmask16(m), p));
    else
        return reinterpret_cast<Register<T>>(
            _mm512_mask_loadu_epi64(reinterpret_cast<__m512i>(fill), __mmask8(m), p));
}

template <class T>
MERCER_INLINE void store(T* p, int count, Register<T> v) {
    const unsigned m = first(count);
    if constexpr (sizeof(T) == 4)
        _mm512_mask_storeu_epi32(p, __mmask16(m), reinterpret_cast<__m512i>(v));
    else
        _mm512_mask_storeu_epi64(p, __mmask8(m), reinterpret_cast<__m512i>(v));
}

template <class T>
MERCER_INLINE void stream(T* p, Register<T> v) {
    _mm512_stream_si512(reinterpret_cast<__m512i*>(p), reinterpret_cast<__m512i>(v));
}

/// Half `half` of sixteen floats as doubles, and two such halves rounded back.
template <int half>
MERCER_INLINE Register<double> widen(Register<float> a) {
    return _mm512_cvtps_pd(_mm512_extractf32x8_ps(a, half));
}
MERCER_INLINE Register<float> narrow(Register<double> low, Register<double> high) {
    return _mm512_insertf32x8(_mm512_castps256_ps512(_mm512_cvtpd_ps(low)), _mm512_cvtpd_ps(high),
                              1);
}

template <class R>
MERCER_INLINE bool any(R mask) {
    return _mm512_test_epi32_mask(reinterpret_cast<__m512i>(mask),
                                  reinterpret_cast<__m512i>(mask)) != 0;
}

/// The k-mask of a > b.
MERCER_INLINE __mmask16 above(Register<float> a, Register<float> b) {
    return _mm512_cmp_ps_mask(a, b, _CMP_GT_OQ);
}
MERCER_INLINE __mmask8 above(Register<double> a, Register<double> b) {
    return _mm512_cmp_pd_mask(a, b, _CMP_GT_OQ);
}

}  // namespace mercer::MERCER_ISA::native
