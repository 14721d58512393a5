// Scans step by step of rows, and of planes, n × inner, of few elements: as many lines of memory as a register has lanes are
// turned, so that each register holds one element of them, and back. Memory traffic: each element once, each result once.
#pragma once

#include "engine/cpu/kernels/reduce_parts.h"
#include "engine/cpu/kernels/run_steps.h"
#include "engine/cpu/kernels/stream_lines.h"
#include "engine/cpu/scan_table.h"

namespace mercer::MERCER_ISA {

/// `count` lines of `size` elements, `inner` of them a step.
struct StepLines {
    int64_t size, inner, count;
    bool reverse, stream;
};

/// Results of lines. Past the caches go whole lines of memory, which are made near: of short ones several together.
template <class T, class To = T>
struct StepResults {
    static constexpr int lanes = Vec<T>::lanes, unit = int(64 / sizeof(T));
    const StepLines& l;
    To* const out;
    const bool together;
    const int64_t apart;  // near, from a line's part to the next's; 0: nothing is made there
    alignas(64) To near[unit * cpu::step_together];

    MERCER_INLINE StepResults(const StepLines& lines, void* to)
        : l(lines),
          out(static_cast<To*>(to)),
          together(l.size <= cpu::step_together),
          apart(!l.stream       ? 0
                : together      ? l.size
                : l.size % unit ? 0
                                : unit) {}

    /// `now` elements, from `first` on, of `rows` lines from k on.
    MERCER_INLINE void put_square(Vec<T> (&v)[lanes], int64_t k, int64_t first, int now, int rows) {
        turn<lanes>(v);
        To* const there = out + k * l.size + first;
        const bool here = apart && (together || rows == lanes);
        To* const to = !here      ? there
                       : together ? near + k % unit * l.size + first
                                  : near + first % unit;
        for (int r = 0; r < rows; ++r) put_wide(v[r], to + r * (here ? apart : l.size), now, false);
        if (!here) return;
        const int64_t end = l.reverse ? first : first + now;
        if (!together) {
            if (end % unit == 0)
                stream_lines<lanes, unit>(near, out + k * l.size + first / unit * unit, l.size);
        } else if (end == (l.reverse ? 0 : l.size)) {
            const int64_t done = k % unit + rows;
            if (done == unit || k + rows == l.count)
                write_run(out + (k + rows - done) * l.size, done * l.size, true,
                          [&](int64_t i, int n) MERCER_STEP { return load(near + i, n, To(0)); });
        }
    }
    template <int n>
    MERCER_INLINE void put_dense(Vec<T> (&v)[n], int64_t k) const {
        turn<n>(v);
#pragma GCC unroll 16
        for (int r = 0; r < n; ++r) put_wide(v[r], out + k * n + r * lanes, lanes, l.stream);
    }
};

template <class T>
using Places = StepResults<typename IntOf<T>::type, int64_t>;

/// step(v, place, e, t, state): v[o][e] are the operands' elements of step t, and become in the last one the result; place[e]
/// goes to `places`, if there is one. `most`: of states that a line has.
template <int most, int operands, class T, class State, class Step>
MERCER_INLINE void step_lines(const void* const (&from)[operands], const StepLines& l, void* out,
                              Places<T>* places, const State& start, Step step) {
    constexpr int lanes = Vec<T>::lanes, line = int(64 / sizeof(T));
    using Index = typename IntOf<T>::type;
    StepResults<T> results(l, out);
    State state[most];
    int column = 0;
    int64_t t = 0, k = 0;
    const auto begin = [&]() MERCER_STEP {
        for (int c = 0; c < (most > 1 ? l.inner : 1); ++c) state[c] = start;
        t = 0;
    };
    const auto take = [&]<int n>(Vec<T>(&v)[operands][n], Vec<Index>(&place)[n], int now)
                          MERCER_STEP {
                              for (int s = 0; s < now; ++s) {
                                  step(v, place, l.reverse ? now - 1 - s : s, t, state[column]);
                                  if (most == 1 || ++column == l.inner) column = 0, ++t;
                              }
                          };
    const auto dense = [&](auto width) MERCER_STEP {  // lines that fill registers together
        constexpr int n = width.value;
        for (; k < l.count / line * line; k += lanes) {
            Vec<T> v[operands][n];
            Vec<Index> place[n];
            for (int o = 0; o < operands; ++o) {
                const T* const x = static_cast<const T*>(from[o]) + k * n;
#pragma GCC unroll 16
                for (int r = 0; r < n; ++r) {
                    fetch_beyond(x + r * lanes);
                    v[o][r] = Vec<T>::load(x + r * lanes);
                }
                turn<lanes>(v[o]);
            }
            begin();
            take(v, place, n);
            results.put_dense(v[operands - 1], k);
            if (places) places->put_dense(place, k);
        }
    };
    if constexpr (lanes > 1) {
        if (l.size == 2) dense(std::integral_constant<int, 2>());
        if (l.size == 4) dense(std::integral_constant<int, 4>());
        if (l.size == 8) dense(std::integral_constant<int, 8>());
        if constexpr (line > 8)
            if (l.size == line) dense(std::integral_constant<int, line>());
    }
    for (; k < l.count; k += lanes) {
        const int rows = int(l.count - k < lanes ? l.count - k : lanes);
        begin();
        for (int64_t i = 0; i < l.size; i += lanes) {
            const int now = int(l.size - i < lanes ? l.size - i : lanes);
            const int64_t first = l.reverse ? l.size - i - now : i;
            Vec<T> v[operands][lanes];
            Vec<Index> place[lanes];
            for (int o = 0; o < operands; ++o)
                load_turned(static_cast<const T*>(from[o]) + k * l.size + first, l.size, rows, now,
                            v[o]);
            take(v, place, now);
            results.put_square(v[operands - 1], k, first, now, rows);
            if (places) places->put_square(place, k, first, now, rows);
        }
    }
    if (l.stream) stream_fence();
}

}  // namespace mercer::MERCER_ISA
