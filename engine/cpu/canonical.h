// The canonical order of a reduction: element i of a run goes to lane i mod 64 in ascending i, then
// lanes j and j + h are joined for h = 32, 16, … 1. Every instruction set keeps the 64 lanes in as
// many registers as that takes, so all get the same bits. Runs longer than `chunk` are cut there
// and their results reduced in the same way.
#pragma once

#include "engine/simd/vec.h"

namespace mercer::MERCER_ISA {

inline constexpr int canonical_lanes = 64;

struct SumOp {
    template <class T>
    static constexpr T identity = T(0);
    template <class T>
    static MERCER_INLINE Vec<T> join(Vec<T> a, Vec<T> b) {
        return a + b;
    }
};
struct MaxOp {
    template <class T>
    static constexpr T identity = -T(__builtin_inf());
    template <class T>
    static MERCER_INLINE Vec<T> join(Vec<T> a, Vec<T> b) {
        return maximum(a, b);
    }
};
struct MinOp {
    template <class T>
    static constexpr T identity = T(__builtin_inf());
    template <class T>
    static MERCER_INLINE Vec<T> join(Vec<T> a, Vec<T> b) {
        return minimum(a, b);
    }
};

template <class T, class Op>
struct Canonical {
    static constexpr int lanes = Vec<T>::lanes, registers = canonical_lanes / lanes;
    Vec<T> part[registers];

    MERCER_INLINE Canonical() {
        for (int k = 0; k < registers; ++k) part[k] = Vec<T>(Op::template identity<T>);
    }
    MERCER_INLINE T total() const {
        constexpr int last = lanes;
        Vec<T> p[registers];
        for (int k = 0; k < registers; ++k) p[k] = part[k];
        int h = registers / 2;
        for (; h >= 1; h /= 2)
            for (int k = 0; k < h; ++k) p[k] = Op::join(p[k], p[k + h]);
        T buffer[last];
        p[0].store(buffer);
        for (int half = last / 2; half >= 1; half /= 2)
            for (int j = 0; j < half; ++j) buffer[j] = scalar_join(buffer[j], buffer[j + half]);
        return buffer[0];
    }

private:
    static MERCER_INLINE T scalar_join(T a, T b) {
        T out[lanes];
        Op::join(Vec<T>(a), Vec<T>(b)).store(out);
        return out[0];
    }
};

/// Calls step(part, i, count) for every register-wide piece of [0, n): `part` is the lane group
/// element i belongs to.
template <class T, class Op, class Step>
MERCER_INLINE void canonical_for(Canonical<T, Op>& acc, int64_t n, Step step) {
    constexpr int lanes = Vec<T>::lanes;
    int64_t i = 0;
    for (; i + canonical_lanes <= n; i += canonical_lanes)
#pragma GCC unroll 8
        for (int k = 0; k < canonical_lanes / lanes; ++k) step(acc.part[k], i + k * lanes, lanes);
    // Unrolled as well, so that the parts stay in registers over many short runs.
#pragma GCC unroll 8
    for (int k = 0; k < canonical_lanes / lanes; ++k, i += lanes)
        if (i < n) step(acc.part[k], i, int(n - i < lanes ? n - i : lanes));
}

}  // namespace mercer::MERCER_ISA
