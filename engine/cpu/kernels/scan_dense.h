// Scans of short rows that fill registers together: as many rows as a register has lanes are turned, so that each register
// holds one step of them, and back. Memory traffic: each element once, each result once.
#pragma once

#include "engine/cpu/kernels/fetch.h"
#include "engine/cpu/kernels/run_steps.h"
#include "engine/cpu/kernels/turn.h"
#include "engine/cpu/scan_table.h"

namespace mercer::MERCER_ISA {

/// v[t] becomes h_t for t in the order of `now` steps, of which `before` came before; h goes on.
template <class T, int n>
MERCER_INLINE void recur(const Vec<T> (&a)[n], Vec<T> (&b)[n], int now, int64_t before,
                         bool reverse, Vec<T>& h) {
    for (int s = 0; s < now; ++s) {
        const int t = reverse ? now - 1 - s : s;
        h = before + s ? a[t] * h + b[t] : b[t];
        b[t] = h;
    }
}

template <class T, int n>
MERCER_INLINE void load_dense(const T* x, Vec<T> (&to)[n]) {
    constexpr int lanes = Vec<T>::lanes;
#pragma GCC unroll 16
    for (int r = 0; r < n; ++r) {
        fetch_beyond(x + r * lanes);
        to[r] = Vec<T>::load(x + r * lanes);
    }
    turn<lanes>(to);
}
template <class T, int n>
MERCER_INLINE void store_dense(Vec<T> (&v)[n], T* out) {
    turn<n>(v);
#pragma GCC unroll 16
    for (int r = 0; r < n; ++r) v[r].store(out + r * Vec<T>::lanes);
}

/// work(width) for a width n that has such rows; how many of them it took.
template <class T, class Work>
MERCER_INLINE int64_t for_dense(int64_t n, Work work) {
    constexpr int lanes = Vec<T>::lanes;
    constexpr int most = int(64 / sizeof(T));  // a line
    if constexpr (lanes > 1) {
        if (n == lanes / 2) return work(std::integral_constant<int, lanes / 2>());
        if (n == lanes) return work(std::integral_constant<int, lanes>());
        if constexpr (2 * lanes <= most)
            if (n == 2 * lanes) return work(std::integral_constant<int, 2 * lanes>());
        if constexpr (4 * lanes <= most)
            if (n == 4 * lanes) return work(std::integral_constant<int, 4 * lanes>());
    }
    return 0;
}

template <class Op, class T>
int64_t running_dense(const cpu::RunningArgs& args) {
    return for_dense<T>(args.n, [&](auto width) MERCER_STEP {
        constexpr int n = width.value, lanes = Vec<T>::lanes;
        using Index = typename IntOf<T>::type;
        alignas(64) Index places[n * lanes];
        int64_t k = 0;
        for (; k + lanes <= args.count; k += lanes) {
            Vec<T> v[n], top(Op::template identity<T>);
            Vec<Index> place[n];
            load_dense(static_cast<const T*>(args.x) + k * n, v);
            run_steps<Op>(v, place, top, args.reverse);
            store_dense(v, static_cast<T*>(args.out) + k * n);
            store_dense(place, places);
            int64_t* const index = args.index + k * n;
            for (int i = 0; i < n * lanes; i += Vec<int64_t>::lanes)
                widened(places + i).store(index + i);
        }
        return k;
    });
}

}  // namespace mercer::MERCER_ISA
