// The canonical order of a reduction: element i of a run goes to lane i mod 64 in ascending i, then
// lanes j and j + h are joined for h = 32, 16, … 1. Every instruction set keeps the 64 lanes in as
// many registers as that takes, so all get the same bits. Runs longer than `chunk` are cut there
// and their results reduced in the same way.
#pragma once

#include <utility>

#include "engine/simd/vec.h"

namespace mercer::MERCER_ISA {

inline constexpr int canonical_lanes = 64;

/// What two results of a reduction give, and that of no elements.
#define MERCER_JOIN(Name, start, joined)                       \
    struct Name {                                              \
        template <class T>                                     \
        static constexpr T identity = start;                   \
        template <class T>                                     \
        static MERCER_INLINE Vec<T> join(Vec<T> a, Vec<T> b) { \
            return joined;                                     \
        }                                                      \
    };
MERCER_JOIN(SumOp, T(0), a + b)
MERCER_JOIN(ProdOp, T(1), (a * b))

/// ∞, or the largest integer; and the other end.
template <class T>
inline constexpr T upper_end = T(__builtin_inf());
template <class T>
inline constexpr T lower_end = -T(__builtin_inf());
template <>
inline constexpr int32_t upper_end<int32_t> = INT32_MAX;
template <>
inline constexpr int32_t lower_end<int32_t> = INT32_MIN;
template <>
inline constexpr int64_t upper_end<int64_t> = INT64_MAX;
template <>
inline constexpr int64_t lower_end<int64_t> = INT64_MIN;

MERCER_JOIN(MaxOp, lower_end<T>, maximum(a, b))
MERCER_JOIN(MinOp, upper_end<T>, minimum(a, b))

/// body(n) for the constant n that `count` is, from 1 to `most`.
template <int most, class Body>
MERCER_INLINE void with_constant(int64_t count, Body body) {
    if constexpr (most > 1)
        if (count < most) return with_constant<most - 1>(count, body);
    body(std::integral_constant<int, most>());
}

template <class T>
MERCER_INLINE T first_lane(Vec<T> v) {
#if MERCER_SIMD == MERCER_SIMD_SCALAR
    return v.v;
#else
    return v.v[0];
#endif
}

#if MERCER_SIMD != MERCER_SIMD_SCALAR
template <int shift, class T, int... i>
MERCER_INLINE Vec<T> rotated(Vec<T> v, std::integer_sequence<int, i...>) {
    return __builtin_shufflevector(v.v, v.v, ((i + shift) % int(sizeof...(i)))...);
}
/// Of a where i has no bit h, else of b: the lane that i is without that bit, and `offset` more.
template <int h, int offset, class T, int... i>
MERCER_INLINE Vec<T> halves(Vec<T> a, Vec<T> b, std::integer_sequence<int, i...>) {
    return __builtin_shufflevector(a.v, b.v,
                                   ((i & ~h) + offset + (i & h ? int(sizeof...(i)) : 0))...);
}
#endif
/// The lanes of one register joined: j and j + h for h = lanes/2, … 1.
template <class Op, class T, int h = Vec<T>::lanes / 2>
MERCER_INLINE T across(Vec<T> v) {
    if constexpr (h == 0)
        return first_lane(v);
    else
        return across<Op, T, h / 2>(
            Op::join(v, rotated<h>(v, std::make_integer_sequence<int, Vec<T>::lanes>())));
}

/// Lane r: across(v[r]). Of two registers one is made at each step, which has the lanes of both: 2 (lanes − 1) shuffles.
template <class Op, class T, int lanes, int h = lanes / 2>
MERCER_INLINE Vec<T> across_each(Vec<T> (&v)[lanes]) {
    static_assert(lanes == Vec<T>::lanes);
    if constexpr (h == 0) {
        return v[0];
    } else {
        constexpr std::make_integer_sequence<int, lanes> places;
#pragma GCC unroll 8
        for (int r = 0; r < h; ++r)
            v[r] = Op::join(halves<h, 0>(v[r], v[r + h], places),
                            halves<h, h>(v[r], v[r + h], places));
        return across_each<Op, T, lanes, h / 2>(v);
    }
}

template <class T, class Op>
struct Canonical {
    static constexpr int lanes = Vec<T>::lanes, registers = canonical_lanes / lanes;
    Vec<T> part[registers];

    MERCER_INLINE Canonical() {
        for (int k = 0; k < registers; ++k) part[k] = Vec<T>(Op::template identity<T>);
    }
    /// The parts joined: what goes across.
    MERCER_INLINE Vec<T> joined() const {
        Vec<T> p[registers];
        for (int k = 0; k < registers; ++k) p[k] = part[k];
        for (int h = registers / 2; h >= 1; h /= 2)
            for (int k = 0; k < h; ++k) p[k] = Op::join(p[k], p[k + h]);
        return p[0];
    }
    MERCER_INLINE T total() const { return across<Op>(joined()); }
};

/// Calls step(i, count, part…) for every register-wide piece of [0, n): of each accumulator the lane group that element i
/// belongs to.
template <class T, class Step, class... Accumulator>
MERCER_INLINE void canonical_run(int64_t n, Step step, Accumulator&... acc) {
    constexpr int lanes = Vec<T>::lanes;
    int64_t i = 0;
    for (; i + canonical_lanes <= n; i += canonical_lanes)
#pragma GCC unroll 8
        for (int k = 0; k < canonical_lanes / lanes; ++k)
            step(i + k * lanes, lanes, acc.part[k]...);
            // Unrolled as well, so that the parts stay in registers over many short runs.
#pragma GCC unroll 8
    for (int k = 0; k < canonical_lanes / lanes; ++k, i += lanes)
        if (i < n) step(i, int(n - i < lanes ? n - i : lanes), acc.part[k]...);
}

/// The same with one accumulator: step(part, i, count).
template <class T, class Op, class Step>
MERCER_INLINE void canonical_for(Canonical<T, Op>& acc, int64_t n, Step step) {
    canonical_run<T>(
        n, [&](int64_t i, int count, Vec<T>& part) MERCER_STEP { step(part, i, count); }, acc);
}

/// What step(part, i, count) adds up.
template <class T, class Step>
MERCER_INLINE T canonical_sum(int64_t n, Step step) {
    Canonical<T, SumOp> sum;
    canonical_for(sum, n, step);
    return sum.total();
}
template <class T>
struct TwoSums {
    T first, second;
};
/// What step(i, count, part of the first, part of the second) adds up.
template <class T, class Step>
MERCER_INLINE TwoSums<T> canonical_sums(int64_t n, Step step) {
    Canonical<T, SumOp> first, second;
    canonical_run<T>(n, step, first, second);
    return {first.total(), second.total()};
}

}  // namespace mercer::MERCER_ISA
