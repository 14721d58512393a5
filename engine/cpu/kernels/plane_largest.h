// The largest sample of each window of a plane, or which it is.
#pragma once

#include <bit>
#include <type_traits>

#include "engine/cpu/kernels/plane_walk.h"

namespace mercer::MERCER_ISA {
namespace {

template <class T>
struct LargestRow {
    const PlaneWalk<T>& x;
    const T* from;
    T* out;
    template <int n>
    MERCER_INLINE void run(int64_t c) const {
        Vec<T> top[n];
        MERCER_UNROLL for (int j = 0; j < n; ++j) top[j] = Vec<T>(MaxOp::identity<T>);
        over_taps<T, n>(
            x, from + c, top, [](Vec<T> & t, int64_t, Vec<T> v) __attribute__((always_inline)) {
                t = maximum(t, v);
            });
        MERCER_UNROLL for (int j = 0; j < n; ++j)
            store_within(top[j], out, c + j * Vec<T>::lanes, x.columns);
    }
};
template <class T>
void largest(const PlaneWalk<T>& x, T* out, int64_t out_row) {
    for (int64_t r = 0; r < x.rows; ++r)
        across<T>(x.columns, LargestRow<T>{x, x.tile + r * x.row_step, out + r * out_row});
}

template <class T>
struct LargestTap {
    using V = Vec<T>;
    using I = typename V::Int;
    using Int = typename IntOf<T>::type;
    const PlaneWalk<T>& x;
    int32_t* taps;
    struct Best {
        V top;
        I tap;
    };
    template <int n>
    MERCER_INLINE void run(int64_t c) const {
        Best best[n];
        MERCER_UNROLL for (int j = 0; j < n; ++j)
            best[j] = {V::load(x.tile + c + j * V::lanes + x.offsets[0]), I(Int(0))};
        over_taps<T, n>(
            x, x.tile + c, best, [](Best & b, int64_t k, V v) __attribute__((always_inline)) {
                const Mask<T> better =
                    !(v <= b.top) && b.top == b.top;  // v greater or NaN, top a number
                b.top = select(better, v, b.top);
                b.tap = select(better.template as<Int>(), I(Int(k)), b.tap);
            });
        MERCER_UNROLL for (int j = 0; j < n; ++j) {
            const int64_t at = c + j * V::lanes, left = x.columns - at;
            if (left > 0) store(best[j].tap, left < V::lanes ? int(left) : V::lanes, taps + at);
        }
    }
    static MERCER_INLINE void store(I tap, int count, int32_t* to) {
        if constexpr (sizeof(T) == 4) {
            tap.store(to, count);
        } else {
            Int found[V::lanes];
            tap.store(found);
            for (int j = 0; j < count; ++j) to[j] = int32_t(found[j]);
        }
    }
};
template <class T>
void largest_tap(const PlaneWalk<T>& x, int32_t* taps) {
    across<T>(x.columns, LargestTap<T>{x, taps});
}

// No branches: which it is cannot be foretold.
template <class T>
void spread_pairs(int64_t columns, const int32_t* __restrict taps, int32_t first,
                  const T* __restrict g, T* __restrict row) {
    using Bits = std::conditional_t<sizeof(T) == 8, uint64_t, uint32_t>;
    for (int64_t c = 0; c < columns; ++c) {
        const Bits bits = std::bit_cast<Bits>(g[c]);
        row[2 * c] = std::bit_cast<T>(bits & (Bits(0) - Bits(taps[c] == first)));
        row[2 * c + 1] = std::bit_cast<T>(bits & (Bits(0) - Bits(taps[c] == first + 1)));
    }
}

}  // namespace
}  // namespace mercer::MERCER_ISA
