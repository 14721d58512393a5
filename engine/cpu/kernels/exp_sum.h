// Σ exp x over a row, or a column, relative to its maximum.
#pragma once

#include "engine/cpu/kernels/tile.h"

namespace mercer::MERCER_ISA {

/// table[k mod 8], lane by lane: eight words that stay in registers.
MERCER_INLINE Vec<int32_t> lookup(const int32_t (&table)[8], Vec<int32_t> k) {
    using R = native::Register<int32_t>;
#if MERCER_SIMD == MERCER_SIMD_AVX512
    const __m512i words =
        _mm512_maskz_broadcast_i64x4(-1, *reinterpret_cast<const __m256i_u*>(table));
    return R(_mm512_maskz_permutexvar_epi32(-1, __m512i(k.v), words));
#elif MERCER_SIMD == MERCER_SIMD_AVX2
    return R(_mm256_permutevar8x32_epi32(__m256i(native::load(table)), __m256i(k.v)));
#elif MERCER_SIMD == MERCER_SIMD_NEON
    const uint8x16x2_t words = vld1q_u8_x2(reinterpret_cast<const uint8_t*>(table));
    const R bytes = ((k & Vec<int32_t>(7)) * Vec<int32_t>(0x04040404) + Vec<int32_t>(0x03020100)).v;
    return R(vqtbl2q_u8(words, uint8x16_t(bytes)));
#else
    return table[k.v & 7];
#endif
}

/// 2^(k/8 − 127): what the bits of 2^(j/8), j = k mod 8, have more than j shifted brings; of double 2^(k − 1023).
inline constexpr int32_t eighths[8] = {0x0,      -0x46a3e, -0x7c810, -0xa0129,
                                       -0xafb0d, -0xa98d6, -0x8bb03, -0x53f39};
MERCER_INLINE Vec<float> step_power(Vec<int32_t> k) {
    return as_float(shift_left<Format<float>::mantissa - 3>(k) + lookup(eighths, k));
}
MERCER_INLINE Vec<double> step_power(Vec<int64_t> k) {
    return as_float(shift_left<Format<double>::mantissa>(k));
}
/// P with e^r = 1 + r + r² P(r) for |r| ≤ log(2)/16 (error of e^r 2^-25.2); of double within a whole step.
MERCER_INLINE Vec<float> step_polynomial(Vec<float> r) {
    return horner(r, 0x1.000876p-1f, 0x1.555762p-3f);
}
MERCER_INLINE Vec<double> step_polynomial(Vec<double> r) { return exp_polynomial(r); }

/// part + exp x for x ≤ 0, in a sum that has exp 0 among its terms: to that, what is below the normal numbers is
/// nothing, and stands for 0 here whatever it is. The last step of the reduction is left out, a relative error of
/// 2^-29 (double: 2^-55) for each halving, and 2^(k/8) is rounded. NaN stays NaN.
template <class T>
MERCER_INLINE Vec<T> plus_exp(Vec<T> part, Vec<T> x) {
    constexpr T steps = sizeof(T) == 4 ? T(8) : T(1);
    const Vec<T> one(T(1)), magic(Format<T>::round_magic / steps + T(Format<T>::bias));
    const Vec<T> held = clamp_low(x, lowest_normal_exponent<T>);
    const Vec<T> biased = fma(held, Vec<T>(Ln2<T>::inverse), magic);  // k in its last bits
    const Vec<T> r = fma(biased - magic, Vec<T>(-Ln2<T>::high), held);
    return fma(fma(r, fma(r, step_polynomial(r), one), one), step_power(as_int(biased)), part);
}

/// Σ exp x where an x is +∞: +∞, or NaN where there is one; a total too.
template <class T, class... Total>
T infinite_sum(const T* x, int64_t n, Total&... total) {
    T sum = -MaxOp::identity<T>;
    for (int64_t i = 0; i < n; ++i)
        if (x[i] != x[i]) sum = x[i];
    ((total.part[0] = Vec<T>(sum)), ...);
    return sum;
}

/// top = max x (0 where that is −∞) and sum = Σ exp(x − top).
template <class T>
struct ExpSum {
    T top, sum;
};
/// Of a row's sum and the largest of what is not NaN: that of −∞ alone is 0.
template <class T>
MERCER_INLINE ExpSum<T> exp_summed(T largest, T top, T sum) {
    return {top, largest == MaxOp::identity<T> && sum == sum ? T(0) : sum};
}
/// One read of memory: block by block, each small enough to stay in the first-level cache from the pass that finds its
/// maximum to the one that sums; the sum is rescaled where the maximum grew (Milakov and Gimelshein 2018, arXiv
/// 1805.02867, algorithm 3). With a `total` (one at most), Σ (x − top) is added to it.
template <class T, class... Total>
MERCER_INLINE ExpSum<T> exp_sum(const T* x, int64_t n, Total&... total) {
    constexpr int64_t block = 1024;
    constexpr T lowest = MaxOp::identity<T>;
    Canonical<T, SumOp> sum;
    T largest = lowest, top = T(0);
    for (int64_t b = 0; b < n; b += block) {
        const T* const now = x + b;
        const int64_t count = n - b < block ? n - b : block;
        const T m = largest_of(now, count);
        if (m > largest) {
            if (m == -lowest) return {m, infinite_sum(x, n, total...)};
            top = m;
            if (b > 0) {
                const Vec<T> shrink = exp_falling(Vec<T>(largest - top));
                for (Vec<T>& part : sum.part) part = part * shrink;
                const Vec<T> lower(T(b / canonical_lanes) * (largest - top));  // each lane's terms
                const auto move = [&](Canonical<T, SumOp>& whole) MERCER_STEP {
                    for (Vec<T>& part : whole.part) part = part + lower;
                };
                (move(total), ...);
            }
            largest = m;
        }
        const Vec<T> shift(top);
        canonical_run<T>(
            count,
            [&](int64_t i, int lanes, Vec<T>& part, auto&... whole) MERCER_STEP {
                __builtin_prefetch(now + i + block);
                part = plus_exp(part, load(now + i, lanes, lowest) - shift);
                ((whole = whole + (load(now + i, lanes, top) - shift)), ...);
            },
            sum, total...);
    }
    return exp_summed(largest, top, sum.total());
}

/// body(c, count, top, sum) for a tile's columns: exp_sum() of each.
template <class T, class Body>
MERCER_INLINE void sums_of_columns(const T* x, int64_t n, int64_t columns,
                                   const cpu::TileAhead& next, Body body) {
    for_columns<T>(columns, [&](int64_t c, int count) MERCER_STEP {
        const Vec<T> most = largest_of_columns(x + c, n, columns, count), top = finite_top(most);
        Vec<T> sum = column_sum<T>(n, [&](Vec<T> part, int64_t i) MERCER_STEP {
            fetch_ahead<T>(next, 0, i, c);
            return plus_exp(part, load(x + i * columns + c, count, T(0)) - top);
        });
        sum = select(most == -infinity<T>() && sum == sum, Vec<T>(T(0)), sum);
        if (any(most == infinity<T>())) [[unlikely]] {
            Vec<T> seen = most;
            for (int64_t i = c; i < n * columns; i += columns) {
                const Vec<T> v = load(x + i, count, T(0));
                seen = select(is_nan(v), v, seen);
            }
            sum = select(most == infinity<T>(), seen, sum);
        }
        body(c, count, top, sum);
    });
}

}  // namespace mercer::MERCER_ISA
