// The largest sample of each window of a plane, or which it is.
#pragma once

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
        for (int64_t k = 0; k < x.taps; ++k)
            MERCER_UNROLL for (int j = 0; j < n; ++j) top[j] =
                maximum(top[j], Vec<T>::load(from + x.offsets[k] + c + j * Vec<T>::lanes));
        MERCER_UNROLL for (int j = 0; j < n; ++j)
            store_within(top[j], out, c + j * Vec<T>::lanes, x.columns);
    }
};
template <class T>
void largest(const PlaneWalk<T>& x, T* out, int64_t out_row) {
    for (int64_t r = 0; r < x.rows; ++r) {
        ask(x.soon, r, 1);
        across<T>(x.columns, LargestRow<T>{x, x.tile + r * x.row_step, out + r * out_row});
    }
}

/// v is there, named so: the first of equals, the first NaN.
template <class T, class Int>
MERCER_INLINE void consider(Vec<T>& top, Int& name, Vec<T> v, Int named) {
    const Mask<T> stays = v <= top || top != top;  // not where v is greater or the first NaN
    top = select(stays, top, v);
    name = select(stays.template as<typename Int::Scalar>(), name, named);
}

template <class T>
struct LargestNamed {
    using V = Vec<T>;
    using Int = typename V::Int;
    const PlaneWalk<T>& x;
    const T* from;
    const cpu::NameOf<T>* names;
    T* tops;
    cpu::NameOf<T>* to;
    template <int n>
    MERCER_INLINE void run(int64_t c) const {
        V top[n];
        Int name[n];
        for (int64_t k = 0; k < x.taps; ++k) MERCER_UNROLL for (int j = 0; j < n; ++j) {
                const int64_t at = x.offsets[k] + c + j * V::lanes;
                const V v = V::load(from + at);
                const Int named = Int::load(names + at);
                if (k == 0)
                    top[j] = v, name[j] = named;
                else
                    consider(top[j], name[j], v, named);
            }
        MERCER_UNROLL for (int j = 0; j < n; ++j) {
            store_within(top[j], tops, c + j * V::lanes, x.columns);
            store_within(name[j], to, c + j * V::lanes, x.columns);
        }
    }
};
template <class T>
void largest_named(const PlaneWalk<T>& x, const cpu::NameOf<T>* names, T* tops, cpu::NameOf<T>* to,
                   int64_t out_row) {
    for (int64_t r = 0; r < x.rows; ++r) {
        ask(x.soon, r, 1);
        const int64_t in = r * x.row_step, out = r * out_row;
        across<T>(x.columns, LargestNamed<T>{x, x.tile + in, names + in, tops + out, to + out});
    }
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
