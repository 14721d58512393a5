// c(m×n) (+)= a(m×k)·b(k×n) for few columns, k along the memory of a: sums in lanes (engine/cpu/gemm.h). Memory
// traffic: a once for each group of columns, b once per tile's rows, from L1 or L2.
#pragma once

#include "engine/cpu/canonical.h"
#include "engine/cpu/kernels/gemm_micro.h"
#include "engine/cpu/kernels/gemm_pack.h"
#include "engine/cpu/kernels/turn.h"

namespace mercer::MERCER_ISA {
namespace {

using cpu::sum_lanes;

// A tile's columns at most, and its elements: as many sums as stay in registers, or are joined at once.
#if MERCER_SIMD == MERCER_SIMD_AVX512
constexpr int lane_columns = 8, lane_elements = 16;
#elif MERCER_SIMD == MERCER_SIMD_SCALAR
constexpr int lane_columns = 1, lane_elements = 1;
#else
constexpr int lane_columns = 3, lane_elements = 6;
#endif

/// pack_lanes() of dense rows, whole steps of them, turned in registers; how far it came.
template <int n, class T>
int64_t pack_dense(int64_t k, const T* b, T* out) {
    constexpr int w = Vec<T>::lanes, l = sum_lanes<T>;
    int64_t p = 0;
    for (; p + l <= k; p += l)
        for (int h = 0; h < l; h += w) {
            Vec<T> v[n];
            MERCER_UNROLL for (int r = 0; r < n; ++r) v[r] = Vec<T>::load(b + (p + h) * n + r * w);
            turn<w>(v);
            MERCER_UNROLL for (int j = 0; j < n; ++j) v[j].store(out + p * n + j * l + h);
        }
    return p;
}
/// b (element (p, j) at b[p·row + j·col]) as sums in lanes read it: for each sum_lanes steps of k, one column after the
/// other; zeros beyond k.
template <class T>
void pack_lanes(int64_t n, int64_t k, const T* b, int64_t row, int64_t col, T* out) {
    constexpr int l = sum_lanes<T>;
    const bool dense = col == 1 && row == n;
    const int64_t first = !dense   ? 0
                          : n == 2 ? pack_dense<2>(k, b, out)
                          : n == 4 ? pack_dense<4>(k, b, out)
                          : n == 8 ? pack_dense<8>(k, b, out)
                                   : 0;
    out += first * n;
    for (int64_t p = first; p < k; p += l)
        for (int64_t j = 0; j < n; ++j, out += l) {
            const T* const from = b + p * row + j * col;
            const int count = k - p < l ? int(k - p) : l;
            for (int x = 0; x < count; ++x) out[x] = from[x * row];
            for (int x = count; x < l; ++x) out[x] = T(0);
        }
}

template <class T>
constexpr int lane_parts = sum_lanes<T> / Vec<T>::lanes;
/// A sum in lanes.
template <class T>
using Lanes = Vec<T>[lane_parts<T>];

template <class T, int count>
MERCER_INLINE void clear_lanes(Lanes<T>* sum) {
    MERCER_UNROLL for (int e = 0; e < count; ++e)
        MERCER_UNROLL for (int h = 0; h < lane_parts<T>; ++h) sum[e][h] = Vec<T>(T(0));
}

/// sum[i·columns + j] += Σ_p a[i, p]·b[p, j] in lanes; b packed, `n` columns in all. Meanwhile as many steps of
/// `asked` rows from `ahead` on, as far apart as a's, are asked for.
template <class T, int rows, int columns>
MERCER_INLINE void lane_sums(int64_t k, const T* a, int64_t a_row, const T* b, int64_t n,
                             Lanes<T>* sum, const T* ahead, int asked) {
    using V = Vec<T>;
    constexpr int w = V::lanes, l = sum_lanes<T>, parts = lane_parts<T>, groups = (rows + 2) / 3;
    const T* group[groups];  // every third row, as in Rowwise
    MERCER_UNROLL for (int g = 0; g < groups; ++g) {
        group[g] = a + 3 * g * a_row;
        hold(group[g]);
    }
    for (; k >= l; k -= l, b += n * l) {
        for (int r = 0; r < asked; ++r) __builtin_prefetch(ahead + r * a_row, 0, 2);
        ahead += l;
        MERCER_UNROLL for (int h = 0; h < parts; ++h) {
            V bv[columns];
            MERCER_UNROLL for (int j = 0; j < columns; ++j) bv[j] = V::load(b + j * l + h * w);
            MERCER_UNROLL for (int i = 0; i < rows; ++i) {
                const V av = V::load(group[i / 3] + i % 3 * a_row + h * w);
                MERCER_UNROLL for (int j = 0; j < columns; ++j) {
                    V& s = sum[i * columns + j][h];
                    if constexpr (columns == 1)
                        s = fma(av, bv[j], s);  // straight from memory
                    else
                        add_product(s, av, bv[j]);
                }
            }
        }
        MERCER_UNROLL for (int g = 0; g < groups; ++g) group[g] += l;
    }
    if (k > 0) MERCER_UNROLL for (int h = 0; h < parts; ++h) {
            const int left = int(k) - h * w, count = left < 0 ? 0 : left < w ? left : w;
            MERCER_UNROLL for (int i = 0; i < rows; ++i) {
                const V av = V::load(group[i / 3] + i % 3 * a_row + h * w, count, T(0));
                MERCER_UNROLL for (int j = 0; j < columns; ++j) {
                    V& s = sum[i * columns + j][h];
                    s = fma(av, V::load(b + j * l + h * w, count, T(0)), s);
                }
            }
        }
}

/// out[e] = sum[e], its lanes joined; whole registers of them.
template <class T, int count>
MERCER_INLINE void join_sums(Lanes<T>* sum, T* out) {
    using V = Vec<T>;
    constexpr int w = V::lanes;
    MERCER_UNROLL for (int e = 0; e < count; ++e)
        MERCER_UNROLL for (int h = lane_parts<T> / 2; h >= 1; h /= 2)
            MERCER_UNROLL for (int q = 0; q < h; ++q) sum[e][q] = sum[e][q] + sum[e][q + h];
    if constexpr (count == 1) {
        *out = across<SumOp>(sum[0][0]);
        return;
    }
    MERCER_UNROLL for (int e = 0; e < count; e += w) {
        V r[w];
        MERCER_UNROLL for (int x = 0; x < w; ++x) r[x] = e + x < count ? sum[e + x][0] : V(T(0));
        across_each<SumOp>(r).store(out + e);
    }
}

/// out[i·columns + j] = Σ_p a[i, p]·b[p, j], likewise.
template <class T, int rows, int columns>
void lane_tile(int64_t k, const T* a, int64_t a_row, const T* b, int64_t n, T* out) {
    constexpr int elements = rows * columns;
    Lanes<T> sum[elements];
    clear_lanes<T, elements>(sum);
    if constexpr (columns == 1 && rows == 16) {
        // Half as many rows at a time: they come faster from L2.
        MERCER_UNROLL for (int i = 0; i < rows; i += rows / 2)
            lane_sums<T, rows / 2, 1>(k, a + i * a_row, a_row, b, n, sum + i, a, 0);
    } else {
        lane_sums<T, rows, columns>(k, a, a_row, b, n, sum, a, 0);
    }
    join_sums<T, elements>(sum, out);
}

/// One group of columns: tiles of as many rows as fit, the last begun earlier where it would be short.
template <class T, int columns>
void lane_rows(int64_t m, int64_t n, int64_t k, const T* a, int64_t a_row, const T* b, T* c,
               int64_t c_row, bool accumulate) {
    constexpr int rows = lane_elements / columns;
    T out[rows * columns + 64 / sizeof(T)];
    const auto keep = [&](int64_t i, int count, const T* from) {
        if (c_row == columns && !accumulate && count == rows) {
            __builtin_memcpy(c + i * columns, from, rows * columns * sizeof(T));
            return;
        }
        for (int r = 0; r < count; ++r, from += columns) {
            T* const to = c + (i + r) * c_row;
            if (!accumulate)
                __builtin_memcpy(to, from, columns * sizeof(T));
            else
                MERCER_UNROLL for (int j = 0; j < columns; ++j) to[j] = to[j] + from[j];
        }
    };
    int64_t i = 0;
    for (; i + rows <= m; i += rows) {
        lane_tile<T, rows, columns>(k, a + i * a_row, a_row, b, n, out);
        keep(i, rows, out);
    }
    if (2 * (m - i) > rows && m >= rows) {
        const int again = int(i + rows - m);
        lane_tile<T, rows, columns>(k, a + (m - rows) * a_row, a_row, b, n, out);
        keep(i, rows - again, out + again * columns);
        return;
    }
    for (; i < m; ++i) {
        lane_tile<T, 1, columns>(k, a + i * a_row, a_row, b, n, out);
        keep(i, 1, out);
    }
}

/// f(j, count) for groups of columns, `count` from j on, alike in width.
template <class F>
MERCER_INLINE void for_each_group(int64_t n, F f) {
    const int groups = int((n + lane_columns - 1) / lane_columns);
    for (int g = 0, j = 0; g < groups; ++g) {
        const int count = (int(n) - j + groups - g - 1) / (groups - g);
        f(j, count);
        j += count;
    }
}

template <class T>
void multiply_lanes(int64_t m, int64_t n, int64_t k, const T* a, int64_t a_row, const T* b, T* c,
                    int64_t c_row, bool accumulate) {
    if (n == 1) return lane_rows<T, 1>(m, n, k, a, a_row, b, c, c_row, accumulate);
    for_each_group(n, [&](int j, int count) {
        with_constant<lane_columns>(count, [&](auto columns) MERCER_STEP {
            lane_rows<T, columns.value>(m, n, k, a, a_row, b + j * sum_lanes<T>, c + j, c_row,
                                        accumulate);
        });
    });
}

}  // namespace
}  // namespace mercer::MERCER_ISA
