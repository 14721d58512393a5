// Building blocks of kernels over a row of n contiguous elements.
#pragma once

#include "engine/cpu/canonical.h"
#include "engine/simd/math.h"

namespace mercer::MERCER_ISA {

/// The row's elements [i, i + count), the lanes beyond them `fill`.
template <class T>
MERCER_INLINE Vec<T> load(const T* p, int count, T fill) {
    return count == Vec<T>::lanes ? Vec<T>::load(p) : Vec<T>::load(p, count, fill);
}
template <class T>
MERCER_INLINE void store(Vec<T> v, T* p, int count) {
    if (count == Vec<T>::lanes)
        v.store(p);
    else
        v.store(p, count);
}

/// Past the caches where `stream` says so.
template <class T>
MERCER_INLINE void put(Vec<T> v, T* p, bool stream) {
    stream ? v.stream(p) : v.store(p);
}
template <class T>
MERCER_INLINE void put(Vec<T> v, T* p, int count, bool stream) {
    count == Vec<T>::lanes ? put(v, p, stream) : v.store(p, count);
}

/// step(i, count) for every register-wide piece of [0, n).
template <class T, class Step>
MERCER_INLINE void for_run(int64_t n, Step step) {
    constexpr int lanes = Vec<T>::lanes;
    int64_t i = 0;
    for (; i + lanes <= n; i += lanes) step(i, lanes);
    if (i < n) step(i, int(n - i));
}

/// to[i] = f(i, count) for every register-wide piece of [0, n); past the caches if `stream`.
template <class T, class F>
MERCER_INLINE void write_run(T* to, int64_t n, bool stream, F f) {
    constexpr int lanes = Vec<T>::lanes;
    if (!stream || lanes == 1)
        return for_run<T>(n, [&](int64_t i, int count)
                                 MERCER_STEP { store(Vec<T>(f(i, count)), to + i, count); });
    constexpr size_t bytes = sizeof(Vec<T>);
    int64_t i = int64_t(-reinterpret_cast<size_t>(to) % bytes / sizeof(T));
    if (i > n) i = n;
    if (i > 0) f(0, int(i)).store(to, int(i));
    for (; i + lanes <= n; i += lanes) f(i, lanes).stream(to + i);
    if (i < n) f(i, int(n - i)).store(to + i, int(n - i));
}

/// A parameter of a run's elements: one number for all (`whole`), or a number for each.
template <class T, bool whole>
struct Parameter {
    const T* p;
    Vec<T> one;
    MERCER_INLINE Parameter(const void* numbers, int64_t channel)
        : p(static_cast<const T*>(numbers)), one(whole && p ? p[channel] : T(0)) {}
    MERCER_INLINE Vec<T> at(int64_t i, int count) const {
        if constexpr (whole) return one;
        return load(p + i, count, T(0));
    }
};

/// A formula of one number.
template <class T>
MERCER_INLINE T number(Vec<T> v) {
    T lane[Vec<T>::lanes];
    v.store(lane);
    return lane[0];
}

// The maximum of what is not NaN: NaN comes back through the exponential.
struct PlainMax : MaxOp {
    template <class T>
    static MERCER_INLINE Vec<T> join(Vec<T> a, Vec<T> b) {
        return max_or_second(b, a);
    }
};

template <class T>
MERCER_INLINE T largest_of(const T* x, int64_t n) {
    Canonical<T, PlainMax> largest;
    canonical_run<T>(
        n,
        [&](int64_t i, int count, Vec<T>& part)
            MERCER_STEP { part = PlainMax::join(part, load(x + i, count, MaxOp::identity<T>)); },
        largest);
    return largest.total();
}

/// exp(x) for x ≤ 0, where no upper bound needs to be held: the same bits. NaN stays NaN. What ends as 0
/// in any case (padding and masked scores, −∞) does not get there by underflow, which costs processors
/// more than a hundred cycles. If `summed`, a term of a sum with exp(0): the last step of the reduction is
/// left out, a relative error of 2^-29 (double: 2^-55) for each halving.
template <bool summed = false, class T>
MERCER_INLINE Vec<T> exp_falling(Vec<T> x) {
    const Vec<T> one(T(1)), least(sizeof(T) == 4 ? T(-104) : T(-746));
    const auto raised = [&](const ExpReduced<T>& e) MERCER_STEP {
        const Vec<T> r = summed ? e.first : e.r;
        return fma(r, fma(r, exp_polynomial(r), one), one);
    };
#if MERCER_SIMD == MERCER_SIMD_AVX512
    // The mask comes at the end, for nothing.
    const auto e = exp_reduce(x);
    const Vec<T> p = raised(e);
    const Mask<T> gone = x < least;
    if (any(x < Vec<T>(T(0.75)) * least && !gone)) [[unlikely]]
        return select(gone, Vec<T>(T(0)), scale(p, e.n));
    if constexpr (sizeof(T) == 4)
        return _mm512_maskz_scalef_ps(_mm512_cmp_ps_mask(x.v, least.v, _CMP_NLT_UQ), p.v, e.n.v);
    else
        return _mm512_maskz_scalef_pd(_mm512_cmp_pd_mask(x.v, least.v, _CMP_NLT_UQ), p.v, e.n.v);
#else
    const Vec<T> zero(T(0));
    const Mask<T> gone = x < least;
    const auto e = exp_reduce(select(gone, zero, x));
    return select(gone, zero, scale(raised(e), e.n));
#endif
}

/// Σ exp x where an x is +∞: +∞, or NaN where there is one. Adds Σ x to a total.
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
/// One read of memory: block by block, each small enough to stay in the first-level cache until it was
/// seen twice, for its maximum while the one before it is summed; the sum is rescaled where the maximum
/// grew (Milakov and Gimelshein 2018, arXiv 1805.02867, algorithm 3). With a `total` (one at most), Σ x
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
            part = part + exp_falling<true>(load(now + i, lanes, lowest) - shift);
            ((whole = whole + load(now + i, lanes, T(0))), ...);
        };
        const auto see = [&](int64_t i, int lanes, Vec<T>& part) MERCER_STEP {
            part = PlainMax::join(part, load(next + i, lanes, lowest));
        };
        Canonical<T, PlainMax> most;
        canonical_run<T>(
            beside,
            [&](int64_t i, int lanes, Vec<T>& seen, auto&... parts) MERCER_STEP {
                add(i, lanes, parts...);
                see(i, lanes, seen);
            },
            most, sum, total...);
        canonical_run<T>(
            count - beside,
            [&](int64_t i, int lanes, auto&... parts)
                MERCER_STEP { add(beside + i, lanes, parts...); },
            sum, total...);
        if (left < block)
            canonical_run<T>(
                left - beside,
                [&](int64_t i, int lanes, Vec<T>& seen)
                    MERCER_STEP { see(beside + i, lanes, seen); },
                most);
        m = most.total();
    }
    return {top, sum.total()};
}

}  // namespace mercer::MERCER_ISA
