// Σ exp x over a row, relative to its maximum.
#pragma once

#include "engine/cpu/kernels/row.h"

namespace mercer::MERCER_ISA {

/// part + exp x for x ≤ 0, in a sum that has exp 0 among its terms: to that, what is below the normal numbers is
/// nothing, and stands for 0 here whatever it is. The last step of the reduction is left out, a relative error of
/// 2^-29 (double: 2^-55) for each halving. NaN stays NaN.
template <class T>
MERCER_INLINE Vec<T> plus_exp(Vec<T> part, Vec<T> x) {
    const Vec<T> one(T(1)), magic(Format<T>::round_magic + T(Format<T>::bias));
    const Vec<T> held = clamp_low(x, lowest_normal_exponent<T>);
    const Vec<T> biased = fma(held, Vec<T>(Ln2<T>::inverse), magic);  // n in its last bits
    const Vec<T> r = fma(biased - magic, Vec<T>(-Ln2<T>::high), held);
    return fma(fma(r, fma(r, exp_polynomial(r), one), one),
               as_float(shift_left<Format<T>::mantissa>(as_int(biased))), part);
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
/// One read of memory: block by block, each small enough to stay in the first-level cache until it was
/// seen twice, for its maximum while the one before it is summed; the sum is rescaled where the maximum
/// grew (Milakov and Gimelshein 2018, arXiv 1805.02867, algorithm 3). With a `total` (one at most), Σ (x − top)
/// is added to it.
template <class T, class... Total>
MERCER_INLINE ExpSum<T> exp_sum(const T* x, int64_t n, Total&... total) {
    constexpr int64_t block = 8192 / sizeof(T);
    constexpr T lowest = MaxOp::identity<T>;
    Canonical<T, SumOp> sum;
    T largest = lowest, top = T(0), m = largest_of(x, n < block ? n : block);
    for (int64_t b = 0; b < n; b += block) {
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
        const T* const now = x + b;
        const T* const next = now + block;
        const int64_t count = n - b < block ? n - b : block,
                      left = n - b - count,  // beyond this block
            beside = left >= block ? block : left / canonical_lanes * canonical_lanes;
        const Vec<T> shift(top);
        const auto add = [&](int64_t i, int lanes, Vec<T>& part, auto&... whole) MERCER_STEP {
            __builtin_prefetch(now + i + 2 * block);
            part = plus_exp(part, load(now + i, lanes, lowest) - shift);
            ((whole = whole + (load(now + i, lanes, top) - shift)), ...);
        };
        Vec<T> seen(lowest);
        const auto see = [&](int64_t i, int lanes) MERCER_STEP {
            seen = PlainMax::join(seen, load(next + i, lanes, lowest));
        };
        canonical_run<T>(
            beside,
            [&](int64_t i, int lanes, auto&... parts) MERCER_STEP {
                add(i, lanes, parts...);
                see(i, lanes);
            },
            sum, total...);
        canonical_run<T>(
            count - beside,
            [&](int64_t i, int lanes, auto&... parts)
                MERCER_STEP { add(beside + i, lanes, parts...); },
            sum, total...);
        if (left < block)
            for_run<T>(left - beside,
                       [&](int64_t i, int lanes) MERCER_STEP { see(beside + i, lanes); });
        m = across<PlainMax>(seen);
    }
    return exp_summed(largest, top, sum.total());
}

}  // namespace mercer::MERCER_ISA
