// c(m×n) (+)= a(m×k)·b(k×n) for one or two rows. Memory traffic: b once; c, in L1, once in and out
// per `depth` rows of b.
#pragma once

#include "engine/cpu/kernels/gemm_pack.h"
#include "engine/simd/vec.h"

namespace mercer::MERCER_ISA {
namespace {

/// As far as there are registers for 2·depth elements of a.
#if MERCER_SIMD == MERCER_SIMD_AVX512 || MERCER_SIMD == MERCER_SIMD_NEON
constexpr int row_pair_depth = 8;
#else
constexpr int row_pair_depth = 4;
#endif

/// `depth` rows of b added into c at once: c is read and written k/depth times, from L1.
template <class T, int rows, int depth>
void add_rows(int64_t n, const T* a, int64_t a_row, int64_t a_col, const T* b, int64_t b_row, T* c,
              int64_t c_row, bool accumulate) {
    using V = Vec<T>;
    constexpr int w = V::lanes;
    V av[rows][depth];
    MERCER_UNROLL for (int i = 0; i < rows; ++i) MERCER_UNROLL for (int p = 0; p < depth; ++p)
        av[i][p] = V(a[i * a_row + p * a_col]);
    int64_t j = 0;
    for (; j + w <= n; j += w) {
        V sum[rows];
        MERCER_UNROLL for (int i = 0; i < rows; ++i) sum[i] =
            accumulate ? V::load(c + i * c_row + j) : V(T(0));
        MERCER_UNROLL for (int p = 0; p < depth; ++p) {
            const V bv = V::load(b + p * b_row + j);
            MERCER_UNROLL for (int i = 0; i < rows; ++i) sum[i] = fma(av[i][p], bv, sum[i]);
        }
        MERCER_UNROLL for (int i = 0; i < rows; ++i) sum[i].store(c + i * c_row + j);
    }
    if (const int left = int(n - j); left > 0) MERCER_UNROLL for (int i = 0; i < rows; ++i) {
            T* const to = c + i * c_row + j;
            V sum = accumulate ? V::load(to, left, T(0)) : V(T(0));
            MERCER_UNROLL for (int p = 0; p < depth; ++p) sum =
                fma(av[i][p], V::load(b + p * b_row + j, left, T(0)), sum);
            sum.store(to, left);
        }
}

template <class T, int rows, int depth>
void multiply_some(int64_t n, int64_t k, const T* a, int64_t a_row, int64_t a_col, const T* b,
                   int64_t b_row, T* c, int64_t c_row, bool accumulate) {
    int64_t p = 0;
    for (; p + depth <= k; p += depth)
        add_rows<T, rows, depth>(n, a + p * a_col, a_row, a_col, b + p * b_row, b_row, c, c_row,
                                 accumulate || p > 0);
    for (; p < k; ++p)
        add_rows<T, rows, 1>(n, a + p * a_col, a_row, a_col, b + p * b_row, b_row, c, c_row,
                             accumulate || p > 0);
}

template <class T>
void multiply_rows(int64_t m, int64_t n, int64_t k, const T* a, int64_t a_row, int64_t a_col,
                   const T* b, int64_t b_row, T* c, int64_t c_row, bool accumulate) {
    const auto run = m == 1 ? multiply_some<T, 1, 8> : multiply_some<T, 2, row_pair_depth>;
    run(n, k, a, a_row, a_col, b, b_row, c, c_row, accumulate);
}

}  // namespace
}  // namespace mercer::MERCER_ISA
