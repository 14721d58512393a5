// The largest sample of each window of a plane, or which it is.
#pragma once

#include "engine/cpu/kernels/plane_walk.h"

namespace mercer::MERCER_ISA {
namespace {

/// v is there, named so: the first of equals, the first NaN.
template <class T, class Int>
MERCER_INLINE void consider(Vec<T>& top, Int& name, Vec<T> v, Int named) {
    const Mask<T> stays = v <= top || top != top;  // not where v is greater or the first NaN
    top = select(stays, top, v);
    name = select(stays.template as<typename Int::Scalar>(), name, named);
}

/// Of each lane the largest and, `named`, which it is.
template <class T, bool named>
struct Largest {
    using V = Vec<T>;
    using Int = typename V::Int;
    V top;
    Int name;
    static MERCER_INLINE Largest load(const T* tops, const cpu::NameOf<T>* names, int64_t at) {
        Largest l;
        l.top = V::load(tops + at);
        if constexpr (named) l.name = Int::load(names + at);
        return l;
    }
    MERCER_INLINE void store(T* tops, cpu::NameOf<T>* names, int64_t at) const {
        top.store(tops + at);
        if constexpr (named) name.store(names + at);
    }
    /// Of equals the first stays.
    MERCER_INLINE void meet(const Largest& later) {
        if constexpr (named)
            consider(top, name, later.top, later.name);
        else
            top = maximum(top, later.top);
    }
};

template <class T, bool named>
struct LargestRow {
    using L = Largest<T, named>;
    const PlaneWalk<T>& x;
    int64_t in, out;  // where its samples and its results begin
    const cpu::NameOf<T>* names;
    T* tops;
    cpu::NameOf<T>* to;
    template <int n>
    MERCER_INLINE void run(int64_t c) const {
        constexpr int w = Vec<T>::lanes;
        L most[n];
        const auto sample = [&](int64_t k, int j) MERCER_STEP {
            return L::load(x.tile, names, in + x.offsets[k] + c + j * w);
        };
        MERCER_UNROLL for (int j = 0; j < n; ++j) most[j] = sample(0, j);
        for (int64_t k = 1; k < x.taps; ++k)
            MERCER_UNROLL for (int j = 0; j < n; ++j) most[j].meet(sample(k, j));
        MERCER_UNROLL for (int j = 0; j < n; ++j) {
            store_within(most[j].top, tops + out, c + j * w, x.columns);
            if constexpr (named) store_within(most[j].name, to + out, c + j * w, x.columns);
        }
    }
};
template <class T, bool named>
void largest_rows(const PlaneWalk<T>& x, const cpu::NameOf<T>* names, T* tops, cpu::NameOf<T>* to,
                  int64_t out_row) {
    for (int64_t r = 0; r < x.rows; ++r) {
        ask(x.soon, r, 1);
        across<T>(x.columns, LargestRow<T, named>{x, r * x.row_step, r * out_row, names, tops, to});
    }
}
template <class T>
void largest(const PlaneWalk<T>& x, T* out, int64_t out_row) {
    largest_rows<T, false>(x, nullptr, out, nullptr, out_row);
}

// A block of windows at a time, one row after the other, and without branches, for which it is cannot be foretold.
template <class T>
void pair_gradient(int64_t columns, int64_t rows, const T* __restrict x, int64_t row,
                   const T* __restrict g, T* __restrict dx) {
    using V = Vec<T>;
    using Int = typename V::Int;
    using I = typename Int::Scalar;
    constexpr int64_t block = 64;
    T top[block] = {}, left[block] = {}, right[block] = {}, from[block] = {};
    I tap[block] = {};
    for (int64_t c = 0; c < columns; c += block, x += 2 * block, dx += 2 * block, g += block) {
        const int64_t n = columns - c < block ? columns - c : block;
        const auto each = [n](auto body) MERCER_STEP {
            for (int64_t j = 0; j < n; j += V::lanes) body(j);
        };
        for (int64_t j = 0; j < n; ++j) top[j] = x[2 * j], tap[j] = 0, from[j] = g[j];
        for (int64_t y = 0; y < rows; ++y) {
            const T* const here = x + y * row;
            for (int64_t j = 0; j < n; ++j) left[j] = here[2 * j], right[j] = here[2 * j + 1];
            each([&](int64_t j) MERCER_STEP {
                V most = V::load(top + j);
                Int at = Int::load(tap + j);
                consider(most, at, V::load(left + j), Int(I(2 * y)));
                consider(most, at, V::load(right + j), Int(I(2 * y + 1)));
                most.store(top + j);
                at.store(tap + j);
            });
        }
        for (int64_t y = 0; y < rows; ++y) {
            each([&](int64_t j) MERCER_STEP {
                const V v = V::load(from + j);
                const Int at = Int::load(tap + j);
                const auto put = [&](T* to, int64_t k) MERCER_STEP {
                    select((at == Int(I(k))).template as<T>(), v, V(T(0))).store(to + j);
                };
                put(left, 2 * y), put(right, 2 * y + 1);
            });
            T* const to = dx + y * row;
            for (int64_t j = 0; j < n; ++j) to[2 * j] = left[j], to[2 * j + 1] = right[j];
        }
    }
}

}  // namespace
}  // namespace mercer::MERCER_ISA
