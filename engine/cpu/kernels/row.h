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

/// How many of n elements are left for a run's register k, for Vec's load and store: a register's lanes at most count. No
/// branch: where runs end may be chance.
template <class T>
MERCER_INLINE int held(int64_t n, int k) {
    const int64_t rest = n - k * Vec<T>::lanes;
    return int(k ? rest & ~(rest >> 63) : rest);
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

/// body(i, registers as a constant, count) over [0, n): runs of so many registers as `sizes` say, the most first, each of
/// `count` elements; a last one may have fewer.
template <class T, int... sizes, class Body>
MERCER_INLINE void for_registers(int64_t n, Body body) {
    constexpr int lanes = Vec<T>::lanes;
    int64_t i = 0;
    const auto run = [&](auto size) MERCER_STEP {
        for (; i + size * lanes <= n; i += size * lanes) body(i, size, lanes);
    };
    (run(std::integral_constant<int, sizes>()), ...);
    if (i < n) body(i, std::integral_constant<int, 1>(), int(n - i));
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

/// Whether a register is part of a cache line: past the caches such parts are slow where those of other lines come in
/// between, so a square's lines are made whole near first.
template <class T>
inline constexpr bool part_of_line = sizeof(Vec<T>) < 64;

/// Rows of `width` elements, whole lines, from near to where they belong, `apart` elements from each other.
template <int rows, int width, class T>
MERCER_INLINE void stream_lines(const T* near, T* to, int64_t apart) {
    constexpr int lanes = Vec<T>::lanes;
#pragma GCC unroll 2
    for (int i = 0; i < rows; ++i)
#pragma GCC unroll 4
        for (int j = 0; j < width; j += lanes)
            Vec<T>::load(near + i * width + j).stream(to + i * apart + j);
}

/// Asks for what lies 1 KiB beyond p. For memory that is read in a row, but in parts of registers: some
/// processors do not look ahead then by themselves (Zen 5 reads at a third of its rate).
template <class T>
MERCER_INLINE void fetch_beyond(const T* p) {
    __builtin_prefetch(reinterpret_cast<const char*>(p) + 1024);
}

/// Asks for what stands n elements beyond p, in the next row's same place. Rows that are not short would take the first
/// cache from what the passes over this row keep there; a long row's beginning would be gone when its turn comes. What is
/// `passing`, in memory and read here for the last time, goes past the other caches: their room is worth more to others.
template <class T>
MERCER_INLINE void fetch_next_row(const T* p, int64_t n, bool passing = false) {
    const int64_t bytes = n * int64_t(sizeof(T));
    if (passing && bytes <= 1 << 13)
        __builtin_prefetch(p + n, 0, 0);
    else if (bytes <= 1 << 11)
        __builtin_prefetch(p + n);
    else if (bytes <= 1 << 15)
        __builtin_prefetch(p + n, 0, 2);
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

// The largest and the smallest of what is not NaN: NaN comes back through the exponential.
struct PlainMax : MaxOp {
    template <class T>
    static MERCER_INLINE Vec<T> join(Vec<T> a, Vec<T> b) {
        return max_or_second(b, a);
    }
};
struct PlainMin : MinOp {
    template <class T>
    static MERCER_INLINE Vec<T> join(Vec<T> a, Vec<T> b) {
        return min_or_second(b, a);
    }
};

template <class T>
MERCER_INLINE T largest_of(const T* x, int64_t n) {
    Canonical<T, PlainMax> largest;
    canonical_for(largest, n, [&](Vec<T>& part, int64_t i, int count) MERCER_STEP {
        part = PlainMax::join(part, load(x + i, count, MaxOp::identity<T>));
    });
    return largest.total();
}

/// Two registers for all lanes: the order is nothing to a minimum, and registers are few.
template <class T>
struct Smallest {
    Vec<T> lane[2] = {Vec<T>(MinOp::identity<T>), Vec<T>(MinOp::identity<T>)};
    struct Parts {
        Vec<T>* lane;
        MERCER_INLINE Vec<T>& operator[](int k) const { return lane[k & 1]; }
    } part{lane};
    MERCER_INLINE T total() const { return across<PlainMin>(PlainMin::join(lane[0], lane[1])); }
};
template <class T>
struct Ends {
    T largest, smallest;
};
/// And `beside`(i, count) for every piece of the row.
template <class T, class Step>
MERCER_INLINE Ends<T> ends_of(const T* x, int64_t n, Step beside) {
    Canonical<T, PlainMax> largest;
    Smallest<T> smallest;
    canonical_run<T>(
        n,
        [&](int64_t i, int count, Vec<T>& high, Vec<T>& low) MERCER_STEP {
            beside(i, count);
            const Vec<T> v = load(x + i, count, x[0]);
            high = PlainMax::join(high, v), low = PlainMin::join(low, v);
        },
        largest, smallest);
    return {largest.total(), smallest.total()};
}

/// Down to here e^x is a power of two within the normal numbers times e^r, |r| ≤ ½ log 2.
template <class T>
inline constexpr T lowest_normal_exponent = sizeof(T) == 4 ? T(-87) : T(-708);

/// exp(x) for x ≤ 0, where no upper bound needs to be held: the same bits. NaN stays NaN. What ends as 0
/// in any case (padding and masked scores, −∞) does not get there by underflow, which costs processors
/// more than a hundred cycles.
template <class T>
MERCER_INLINE Vec<T> exp_falling(Vec<T> x) {
    constexpr T least = sizeof(T) == 4 ? T(-104) : T(-746);
#if MERCER_SIMD == MERCER_SIMD_AVX512
    // The mask comes at the end, for nothing.
    const auto e = exp_reduce(x);
    const Vec<T> p = exp_raised(e);
    const Vec<T> bound(least), zero(T(0));
    const auto gone = native::above(bound.v, x.v);
    if (native::above((Vec<T>(T(0.75) * least)).v, x.v) & ~gone) [[unlikely]]
        return select(x < bound, zero, scale(p, e.n));
    if constexpr (sizeof(T) == 4)
        return _mm512_maskz_scalef_ps(__mmask16(~gone), p.v, e.n.v);
    else
        return _mm512_maskz_scalef_pd(__mmask8(~gone), p.v, e.n.v);
#else
    // Where 2^n is a normal number it is one factor; else there are 0 and few others.
    const Vec<T> zero(T(0));
    const Mask<T> low = x < Vec<T>(lowest_normal_exponent<T>);
    const auto e = exp_reduce(clamp_low(x, least));
    const Vec<T> p = exp_raised(e), y = p * power_of_two(e.n);
    if (!any(low)) [[likely]]
        return y;
    const Mask<T> gone = x < Vec<T>(least);
    return select(gone, zero, any(low && !gone) ? scale(p, e.n) : y);
#endif
}

}  // namespace mercer::MERCER_ISA
