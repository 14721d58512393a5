// AVX2 with FMA: 32-byte registers.
#pragma once

#define MERCER_REGISTER_BYTES 32
#include "engine/simd/x86.h"

namespace mercer::MERCER_ISA::native {

MERCER_INLINE Register<int32_t> first(int count, int32_t) {
    return Register<int32_t>{0, 1, 2, 3, 4, 5, 6, 7} < (count - Register<int32_t>{});
}
MERCER_INLINE Register<int64_t> first(int count, int64_t) {
    return Register<int64_t>{0, 1, 2, 3} < (int64_t(count) - Register<int64_t>{});
}

template <class T>
MERCER_INLINE Register<T> load(const T* p, int count, Register<T> fill) {
    if constexpr (sizeof(T) == 4) {
        const auto m = first(count, int32_t{});
        const auto r = reinterpret_cast<Register<T>>(
            _mm256_maskload_epi32(reinterpret_cast<const int*>(p), reinterpret_cast<__m256i>(m)));
        return m ? r : fill;
    } else {
        const auto m = first(count, int64_t{});
        const auto r = reinterpret_cast<Register<T>>(_mm256_maskload_epi64(
            reinterpret_cast<const long long*>(p), reinterpret_cast<__m256i>(m)));
        return m ? r : fill;
    }
}

template <class T>
MERCER_INLINE void store(T* p, int count, Register<T> v) {
    if constexpr (sizeof(T) == 4)
        _mm256_maskstore_epi32(reinterpret_cast<int*>(p),
                               reinterpret_cast<__m256i>(first(count, int32_t{})),
                               reinterpret_cast<__m256i>(v));
    else
        _mm256_maskstore_epi64(reinterpret_cast<long long*>(p),
                               reinterpret_cast<__m256i>(first(count, int64_t{})),
                               reinterpret_cast<__m256i>(v));
}

template <class T>
MERCER_INLINE void stream(T* p, Register<T> v) {
    _mm256_stream_si256(reinterpret_cast<__m256i*>(p), reinterpret_cast<__m256i>(v));
}

/// Half `half` of eight floats as doubles, and two such halves rounded back.
template <int half>
MERCER_INLINE Register<double> widen(Register<float> a) {
    return _mm256_cvtps_pd(_mm256_extractf128_ps(a, half));
}
MERCER_INLINE Register<float> narrow(Register<double> low, Register<double> high) {
    return _mm256_set_m128(_mm256_cvtpd_ps(high), _mm256_cvtpd_ps(low));
}

template <class R>
MERCER_INLINE bool any(R mask) {
    return !_mm256_testz_si256(reinterpret_cast<__m256i>(mask), reinterpret_cast<__m256i>(mask));
}

}  // namespace mercer::MERCER_ISA::native
