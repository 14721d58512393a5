// Which instruction set this translation unit is compiled for, and the namespace its kernels live
// in.
//
// A file listed in mercer_kernels(...) is compiled once per instruction set with MERCER_KERNEL_ISA
// set to scalar, scalar_fma, avx2, avx512 or neon. Any other file sees the build's baseline, under
// a namespace of its own, so that no inline function of one instruction set is ever merged with
// that of another.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#define MERCER_SIMD_SCALAR 0
#define MERCER_SIMD_AVX2 1
#define MERCER_SIMD_AVX512 2
#define MERCER_SIMD_NEON 3

#if defined(__CUDACC__)
#define MERCER_ISA cuda
#define MERCER_SIMD MERCER_SIMD_SCALAR
#elif defined(MERCER_KERNEL_ISA)
#define MERCER_ISA MERCER_KERNEL_ISA
#endif

#ifndef MERCER_SIMD
#if defined(__AVX512F__) && defined(__AVX512DQ__) && defined(__AVX512VL__) && defined(__AVX512BW__)
#define MERCER_SIMD MERCER_SIMD_AVX512
#elif defined(__AVX2__) && defined(__FMA__)
#define MERCER_SIMD MERCER_SIMD_AVX2
#elif defined(__ARM_NEON) && defined(__aarch64__) && !defined(MERCER_FORCE_SCALAR)
#define MERCER_SIMD MERCER_SIMD_NEON
#else
#define MERCER_SIMD MERCER_SIMD_SCALAR
#endif
#endif

// Files of one program may differ in their baselines too.
#if !defined(MERCER_ISA) && MERCER_SIMD == MERCER_SIMD_AVX512
#define MERCER_ISA baseline_avx512
#elif !defined(MERCER_ISA) && MERCER_SIMD == MERCER_SIMD_AVX2
#define MERCER_ISA baseline_avx2
#elif !defined(MERCER_ISA) && MERCER_SIMD == MERCER_SIMD_NEON
#define MERCER_ISA baseline_neon
#elif !defined(MERCER_ISA)
#define MERCER_ISA baseline_scalar
#endif

// Every function of a formula: inlined always, and callable on the device when nvcc compiles it.
#if defined(__CUDACC__)
#define MERCER_INLINE __host__ __device__ __forceinline__
#else
#define MERCER_INLINE inline __attribute__((always_inline))
#endif

// A function too long to be worth a copy in every kernel that calls it; a template, or it would be
// defined where it is not used.
#if defined(__CUDACC__)
#define MERCER_OUTLINE __host__ __device__ __noinline__
#else
#define MERCER_OUTLINE __attribute__((noinline))
#endif

// A lambda that is inlined always.
#define MERCER_STEP __attribute__((always_inline))

// A kernel into which everything it calls is inlined, a map's lambda included.
#define MERCER_FLATTEN __attribute__((flatten))

namespace mercer::MERCER_ISA {

/// What integers are computed as, so that they wrap around.
template <class T>
using Unsigned = std::conditional_t<__is_same(T, int32_t), uint32_t,
                                    std::conditional_t<__is_same(T, int64_t), uint64_t, T>>;
/// The integer of a lane's width.
template <class T>
struct IntOf {
    using type = std::conditional_t<sizeof(T) == 4, int32_t, int64_t>;
};

}  // namespace mercer::MERCER_ISA
