// c(1×n) (+)= a(1×k)·b(k×n), each sum in strands (engine/cpu/gemm.h): of so few columns that one chain for each would
// leave the fma units waiting for it. Memory traffic: a once per piece of columns, b and c once.
#pragma once

#include "engine/cpu/kernels/gemm_tile.h"

namespace mercer::MERCER_ISA {
namespace {

using cpu::sum_strands;

/// Registers of columns that go together: with all strands, what there are registers for, and a whole line.
constexpr int strand_vectors =
    MERCER_SIMD == MERCER_SIMD_AVX512 || MERCER_SIMD == MERCER_SIMD_NEON ? 4 : 2;

/// The last register has `last` columns, or is `whole`.
template <class T, int vectors, bool whole>
void strand_columns(int64_t k, const T* a, int64_t a_col, const T* b, int64_t b_row, T* c,
                    bool accumulate, int last) {
    using V = Vec<T>;
    constexpr int w = V::lanes, end = (vectors - 1) * w;
    V sum[sum_strands][vectors];
    MERCER_UNROLL for (int s = 0; s < sum_strands; ++s)
        MERCER_UNROLL for (int v = 0; v < vectors; ++v) sum[s][v] = V(T(0));
    const auto load = [&](const T* from, int v) MERCER_STEP {
        return whole || v * w < end ? V::load(from + v * w) : V::load(from + end, last, T(0));
    };
    const auto step = [&](int s) MERCER_STEP {
        const V av(*a);
        MERCER_UNROLL for (int v = 0; v < vectors; ++v) sum[s][v] = fma(av, load(b, v), sum[s][v]);
        a += a_col, b += b_row;
    };
    for (; k >= sum_strands; k -= sum_strands)
        MERCER_UNROLL for (int s = 0; s < sum_strands; ++s) step(s);
    MERCER_UNROLL for (int s = 0; s < sum_strands - 1; ++s) if (s < k) step(s);
    MERCER_UNROLL for (int h = sum_strands / 2; h >= 1; h /= 2)
        MERCER_UNROLL for (int s = 0; s < h; ++s) MERCER_UNROLL for (int v = 0; v < vectors; ++v)
            sum[s][v] = sum[s][v] + sum[s + h][v];
    MERCER_UNROLL for (int v = 0; v < vectors; ++v) {
        const V x = accumulate ? load(c, v) + sum[0][v] : sum[0][v];
        whole || v* w < end ? x.store(c + v * w) : x.store(c + v * w, last);
    }
}

template <class T>
void multiply_strands(int64_t n, int64_t k, const T* a, int64_t a_col, const T* b, int64_t b_row,
                      T* c, bool accumulate) {
    constexpr int w = lanes<T>, width = strand_vectors * w;
    for (int64_t j = 0; j < n; j += width) {
        const int left = int(n - j < width ? n - j : width), vectors = (left + w - 1) / w,
                  last = left - (vectors - 1) * w;
        with_constant<strand_vectors>(vectors, [&](auto count) MERCER_STEP {
            (last == w ? strand_columns<T, count.value, true>
                       : strand_columns<T, count.value, false>)(k, a, a_col, b + j, b_row, c + j,
                                                                accumulate, last);
        });
    }
}

}  // namespace
}  // namespace mercer::MERCER_ISA
