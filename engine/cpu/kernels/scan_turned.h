// Scans of rows that lie side by side in memory: a register holds the same step of neighbouring rows, and blocks of 16
// steps are turned on their way out. Memory traffic: each line of x once, each line of the result once.
#pragma once

#include "engine/cpu/kernels/scan_steps.h"

namespace mercer::MERCER_ISA {

inline constexpr int scan_block = 16;

/// v[j], the j-th of `now` steps in the order of the scan, of each of `rows` rows: to out, rows `apart` elements from each
/// other; past the caches if `stream`.
template <class T, class To>
MERCER_INLINE void store_turned(Vec<T> (&v)[scan_block], int now, int rows, bool reverse,
                                bool stream, To* out, int64_t apart) {
    constexpr int lanes = Vec<T>::lanes;
    const bool whole = now == scan_block && rows == lanes, gathered = part_of_line<T> && stream;
    alignas(64) To near[part_of_line<T> ? lanes * scan_block : 1];
#pragma GCC unroll 16
    for (int first = 0; first < scan_block; first += lanes) {
        Vec<T> square[lanes];
#pragma GCC unroll 16
        for (int k = 0; k < lanes; ++k)
            square[k] = v[reverse ? scan_block - 1 - first - k : first + k];
        turn<lanes>(square);
        if (whole) {
#pragma GCC unroll 16
            for (int r = 0; r < lanes; ++r) {
                if (gathered)
                    put_wide(square[r], near + r * scan_block + first, lanes, false);
                else
                    put_wide(square[r], out + r * apart + first, lanes, stream);
            }
            continue;
        }
        // Backwards, the steps there are stand at the end of the block.
        T part[lanes];
        for (int r = 0; r < rows; ++r) {
            square[r].store(part);
            for (int k = 0; k < lanes; ++k) {
                const int t = first + k - (reverse ? scan_block - now : 0);
                if (t >= 0 && t < now) out[r * apart + t] = part[k];
            }
        }
    }
    if (whole && gathered) stream_lines<lanes, scan_block>(near, out, apart);
}

/// body(c, rows, at, now, low): rows c …, steps at, at + 1, … (reverse: at − 1, …), `now` of them, low the first in memory.
template <bool reverse, class T, class Body>
MERCER_INLINE void for_turned(int64_t n, int64_t count, Body body) {
    constexpr int lanes = Vec<T>::lanes;
    for (int64_t done = 0; done < n; done += scan_block) {
        const int now = int(n - done < scan_block ? n - done : scan_block);
        const int64_t at = reverse ? n - 1 - done : done, low = reverse ? at - now + 1 : at;
        for (int64_t c = 0; c < count; c += lanes)
            body(c, int(count - c < lanes ? count - c : lanes), at, now, low);
    }
}

/// Steps at, at ± 1, … of `rows` rows at column c, steps `inner` elements apart; `none` where there is none.
template <bool reverse, class T>
MERCER_INLINE void load_steps(const T* x, int64_t inner, int64_t n, int64_t at, int now, int rows,
                              Vec<T> none, Vec<T> (&v)[scan_block]) {
    constexpr int lanes = Vec<T>::lanes;
    const int64_t down = reverse ? -inner : inner;
    const T* from = x + at * inner;
    if (now < scan_block || rows < lanes) {
        T last[lanes];
        none.store(last);
        for (int j = 0; j < scan_block; ++j)
            v[j] = j < now ? Vec<T>::load(from + j * down, rows, last[0]) : none;
        return;
    }
    const bool more = reverse ? at >= 2 * scan_block - 1 : at + 2 * scan_block <= n;
#pragma GCC unroll 16
    for (int j = 0; j < scan_block; ++j) {
        v[j] = Vec<T>::load(from + j * down);
        if (more) __builtin_prefetch(from + (j + scan_block) * down);
    }
}

/// The joins of scan_row, those of all rows of a register at once.
template <class Op, bool reverse, class T>
MERCER_INLINE void join_turned(const cpu::ScanArgs& args) {
    constexpr int lanes = Vec<T>::lanes;
    alignas(64) T within[cpu::turned_rows + lanes];
    T* const before = static_cast<T*>(args.carry);
    const Vec<T> none(Op::template identity<T>);
    for (int64_t c = 0; c < args.count; ++c) within[c] = Op::template identity<T>;
    for_turned<reverse, T>(
        args.n, args.count, [&](int64_t c, int rows, int64_t at, int now, int64_t low) MERCER_STEP {
            Vec<T> v[scan_block];
            load_steps<reverse>(static_cast<const T*>(args.x) + c, args.inner, args.n, at, now,
                                rows, none, v);
#pragma GCC unroll 4
            for (int shift = 1; shift < scan_block; shift *= 2)
#pragma GCC unroll 16
                for (int j = scan_block - 1; j >= 0; --j)
                    v[j] = Op::join(j >= shift ? v[j - shift] : none, v[j]);
            const Vec<T> carry = Vec<T>::load(within + c);
            Op::join(carry, v[scan_block - 1]).store(within + c);
            if (args.exclusive) {
#pragma GCC unroll 16
                for (int j = scan_block - 1; j > 0; --j) v[j] = v[j - 1];
                v[0] = none;
            }
#pragma GCC unroll 16
            for (int j = 0; j < scan_block; ++j) v[j] = Op::join(carry, v[j]);
            if (!args.first) {
                const Vec<T> earlier = Vec<T>::load(before + c, rows, T(0));
#pragma GCC unroll 16
                for (int j = 0; j < scan_block; ++j) v[j] = Op::join(earlier, v[j]);
            }
            store_turned(v, now, rows, reverse, args.stream,
                         static_cast<T*>(args.out) + c * args.out_inner + low, args.out_inner);
        });
    for (int64_t c = 0; c < args.count; c += lanes) {
        const int rows = int(args.count - c < lanes ? args.count - c : lanes);
        Vec<T> all = Vec<T>::load(within + c);
        if (!args.first) all = Op::join(Vec<T>::load(before + c, rows, T(0)), all);
        all.store(before + c, rows);
    }
    if (args.stream) stream_fence();
}

/// A formula step by step.
template <class F, bool reverse>
MERCER_INLINE void step_turned(const cpu::ScanArgs& args) {
    using T = typename F::T;
    constexpr int operands = F::operands;
    const F formula(args);
    Kept<F, cpu::turned_rows> states(args.count);
    const int64_t start = reverse ? args.n - 1 : 0;
    for_turned<reverse, T>(
        args.n, args.count, [&](int64_t c, int rows, int64_t at, int now, int64_t low) MERCER_STEP {
            Vec<T> v[operands][scan_block];
            Vec<typename F::Index> place[scan_block];
            for (int o = 0; o < operands; ++o)
                load_steps<reverse>(F::from(args, o) + c, F::inner(args, o), args.n, at, now, rows,
                                    Vec<T>(F::start), v[o]);
            typename F::State state = states.load(c);
#pragma GCC unroll 16
            for (int j = 0; j < scan_block; ++j)
                formula.step(v, place, j, j == 0 && at == start, reverse ? at - j : at + j, state);
            states.store(state, c);
            const int64_t to = c * args.out_inner + low;
            store_turned(v[operands - 1], now, rows, reverse, args.stream,
                         static_cast<T*>(args.out) + to, args.out_inner);
            if constexpr (F::places)
                store_turned(place, now, rows, reverse, args.stream, args.index + to,
                             args.out_inner);
        });
    if (args.stream) stream_fence();
}

}  // namespace mercer::MERCER_ISA
