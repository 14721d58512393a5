// c(1×n) (+)= a(1×k)·b(k×n). Memory traffic: b once; c, in L1, once in and out per `depth` rows of b.
#pragma once

#include "engine/cpu/kernels/gemm_pack.h"
#include "engine/simd/vec.h"

namespace mercer::MERCER_ISA {
namespace {

/// `depth` rows of b added into c at once: c is read and written k/depth times, from L1.
template <class T, int depth>
void add_rows(int64_t n, const T* a, int64_t a_col, const T* b, int64_t b_row, T* c,
              bool accumulate) {
    using V = Vec<T>;
    constexpr int w = V::lanes;
    V av[depth];
    MERCER_UNROLL for (int p = 0; p < depth; ++p) av[p] = V(a[p * a_col]);
    int64_t j = 0;
    for (; j + w <= n; j += w) {
        V sum = accumulate ? V::load(c + j) : V(T(0));
        MERCER_UNROLL for (int p = 0; p < depth; ++p) sum =
            fma(av[p], V::load(b + p * b_row + j), sum);
        sum.store(c + j);
    }
    if (const int left = int(n - j); left > 0) {
        V sum = accumulate ? V::load(c + j, left, T(0)) : V(T(0));
        MERCER_UNROLL for (int p = 0; p < depth; ++p) sum =
            fma(av[p], V::load(b + p * b_row + j, left, T(0)), sum);
        sum.store(c + j, left);
    }
}

template <class T>
void multiply_row(int64_t n, int64_t k, const T* a, int64_t a_col, const T* b, int64_t b_row, T* c,
                  bool accumulate) {
    constexpr int depth = 8;
    int64_t p = 0;
    for (; p + depth <= k; p += depth)
        add_rows<T, depth>(n, a + p * a_col, a_col, b + p * b_row, b_row, c, accumulate || p > 0);
    for (; p < k; ++p)
        add_rows<T, 1>(n, a + p * a_col, a_col, b + p * b_row, b_row, c, accumulate || p > 0);
}

}  // namespace
}  // namespace mercer::MERCER_ISA
