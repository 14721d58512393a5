// Scans step by step: of columns; and of rows, and planes, n × inner, of few elements. There as many lines of memory as a
// register has lanes are turned, so that each register holds one element of them, and back. Memory traffic: each element
// once, each result once.
#pragma once

#include "engine/cpu/kernels/reduce_parts.h"
#include "engine/cpu/scan_table.h"

namespace mercer::MERCER_ISA {

/// What a line came to so far; with places, also the last step at which its extremum stood.
template <class T, bool places>
struct SoFar {
    Vec<T> top;
};
template <class T>
struct SoFar<T, true> {
    Vec<T> top;
    Vec<typename IntOf<T>::type> last;
};

/// A formula's step, the `first` or a later one, at place t of its lines: v[o][e] are the operands' elements, and become in
/// the last one the result.
template <class Element, bool with_places, int of = 1>
struct StepFormula {
    using T = Element;
    using Index = typename IntOf<T>::type;
    using State = SoFar<T, with_places>;
    static constexpr bool places = with_places;
    static constexpr int operands = of;

    static MERCER_INLINE const T* from(const cpu::ScanArgs& args, int o) {
        return static_cast<const T*>(o + 1 < of ? args.a : args.x);
    }
    static MERCER_INLINE int64_t inner(const cpu::ScanArgs& args, int o) {
        return o + 1 < of ? args.a_inner : args.inner;
    }
};
/// y ← y ∘ x, and in place of x it, or what it was before.
template <class Op, class T>
struct Join : StepFormula<T, false> {
    static constexpr T start = Op::template identity<T>;
    Mask<T> exclusive;  // a choice between registers, not between places on the stack
    explicit Join(const cpu::ScanArgs& args)
        : exclusive(Vec<T>(T(args.exclusive)) > Vec<T>(T(0))) {}
    template <int n, class Place>
    MERCER_INLINE void step(Vec<T> (&v)[1][n], Place&, int e, bool, int64_t,
                            SoFar<T, false>& y) const {
        const Vec<T> before = y.top;
        y.top = Op::join(y.top, v[0][e]);
        v[0][e] = select(exclusive, before, y.top);
    }
};
/// The extremum so far, and where it stood: at a new extremum, an equal one, NaN.
template <class Op, class T>
struct Running : StepFormula<T, true> {
    static constexpr T start = Op::template identity<T>;
    explicit Running(const cpu::ScanArgs&) {}
    template <int n, class Index>
    MERCER_INLINE void step(Vec<T> (&v)[1][n], Vec<Index> (&place)[n], int e, bool, int64_t t,
                            SoFar<T, true>& y) const {
        Vec<T>& x = v[0][e];
        y.top = Op::join(y.top, x);
        const Mask<T> stands = x == y.top || x != x;
        y.last = select(stands.template as<Index>(), Vec<Index>(Index(t)), y.last);
        x = y.top, place[e] = y.last;
    }
};
/// h ← a·h + x, at first x.
template <class T>
struct Recurrence : StepFormula<T, false, 2> {
    static constexpr T start = T(0);
    explicit Recurrence(const cpu::ScanArgs&) {}
    template <int n, class Place>
    MERCER_INLINE void step(Vec<T> (&v)[2][n], Place&, int e, bool first, int64_t,
                            SoFar<T, false>& h) const {
        if (!first) v[1][e] = v[0][e] * h.top + v[1][e];
        h.top = v[1][e];
    }
};

/// As many places as a register has lanes, as i64.
template <class Index>
MERCER_INLINE Vec<int64_t> widened(const Index* p) {
#if MERCER_SIMD == MERCER_SIMD_SCALAR
    return Vec<int64_t>(int64_t(*p));
#else
    typedef Index Some __attribute__((vector_size(Vec<int64_t>::lanes * sizeof(Index))));
    Some some;
    __builtin_memcpy(&some, p, sizeof some);
    return __builtin_convertvector(some, native::Register<int64_t>);
#endif
}

/// The first `count` elements of v, places as i64.
template <class T, class To>
MERCER_INLINE void put_wide(Vec<T> v, To* to, int count, bool stream) {
    if constexpr (std::is_same_v<T, To>) {
        put(v, to, count, stream);
    } else {
        constexpr int wide = Vec<To>::lanes;
        alignas(64) T e[Vec<T>::lanes];
        v.store(e);
        for (int i = 0; i < count; i += wide)
            put(widened(e + i), to + i, count - i < wide ? count - i : wide, stream);
    }
}

/// Results of lines. Past the caches go whole lines of memory, which are made near: of short ones several together.
template <class T, class To = T>
struct StepResults {
    static constexpr int lanes = Vec<T>::lanes, unit = int(64 / sizeof(T));
    const cpu::ScanArgs& l;
    const int64_t size;
    To* const out;
    const bool together;
    const int64_t apart;  // near, from a line's part to the next's; 0: nothing is made there
    alignas(64) To near[unit * cpu::step_together];

    MERCER_INLINE StepResults(const cpu::ScanArgs& lines, void* to)
        : l(lines),
          size(l.n * l.inner),
          out(static_cast<To*>(to)),
          together(size <= cpu::step_together),
          apart(!l.stream     ? 0
                : together    ? size
                : size % unit ? 0
                              : unit) {}

    /// `now` elements, from `first` on, of `rows` lines from k on.
    MERCER_INLINE void put_square(Vec<T> (&v)[lanes], int64_t k, int64_t first, int now, int rows) {
        turn<lanes>(v);
        To* const there = out + k * size + first;
        const bool here = apart && (together || rows == lanes);
        To* const to = !here      ? there
                       : together ? near + k % unit * size + first
                                  : near + first % unit;
        for (int r = 0; r < rows; ++r) put_wide(v[r], to + r * (here ? apart : size), now, false);
        if (!here) return;
        const int64_t end = l.reverse ? first : first + now;
        if (!together) {
            if (end % unit == 0)
                stream_lines<lanes, unit>(near, out + k * size + first / unit * unit, size);
        } else if (end == (l.reverse ? 0 : size)) {
            const int64_t done = k % unit + rows;
            if (done == unit || k + rows == l.count)
                write_run(out + (k + rows - done) * size, done * size, true,
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

/// One formula along lines of memory, planes of n × inner elements. `most`: of columns that a plane has.
template <int most, class F>
MERCER_INLINE void step_lines(const cpu::ScanArgs& l) {
    using T = typename F::T;
    using Index = typename F::Index;
    constexpr int lanes = Vec<T>::lanes, line = int(64 / sizeof(T)), operands = F::operands;
    const F formula(l);
    StepResults<T> results(l, l.out);
    StepResults<Index, int64_t> places(l, l.index);
    const int64_t size = results.size;
    // Lines are asked for as those before them are met, the same place of each: what is 1 KiB beyond is most often of this
    // group, and there already. Longer lines go on in a row for longer than processors take to see it.
    constexpr int64_t soon = 1024 / sizeof(T), near = 64 * soon;
    const int64_t block = size * lanes, ahead = block > soon && block <= near ? block : soon;
    typename F::State state[most];
    int column = 0;
    int64_t t = 0, k = 0;
    const auto begin = [&]() MERCER_STEP {
        for (int c = 0; c < (most > 1 ? l.inner : 1); ++c) state[c] = {Vec<T>(F::start)};
        t = 0;
    };
    const auto take = [&](auto& v, auto& place, int now) MERCER_STEP {
        for (int s = 0; s < now; ++s) {
            formula.step(v, place, l.reverse ? now - 1 - s : s, t == 0, l.reverse ? l.n - 1 - t : t,
                         state[column]);
            if (most == 1 || ++column == l.inner) column = 0, ++t;
        }
    };
    const auto dense = [&](auto width) MERCER_STEP {  // lines that fill registers together
        constexpr int n = width.value;
        for (; k < l.count / line * line; k += lanes) {
            Vec<T> v[operands][n];
            Vec<Index> place[n];
            for (int o = 0; o < operands; ++o) {
                const T* const x = F::from(l, o) + k * n;
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
            if constexpr (F::places) places.put_dense(place, k);
        }
    };
    if constexpr (lanes > 1) {
        if (size == 2) dense(std::integral_constant<int, 2>());
        if (size == 4) dense(std::integral_constant<int, 4>());
        if (size == 8) dense(std::integral_constant<int, 8>());
        if constexpr (line > 8)
            if (size == line) dense(std::integral_constant<int, line>());
    }
    for (; k < l.count; k += lanes) {
        const int rows = int(l.count - k < lanes ? l.count - k : lanes);
        begin();
        for (int64_t i = 0; i < size; i += lanes) {
            const int now = int(size - i < lanes ? size - i : lanes);
            const int64_t first = l.reverse ? size - i - now : i;
            Vec<T> v[operands][lanes];
            Vec<Index> place[lanes];
            for (int o = 0; o < operands; ++o)
                load_turned(F::from(l, o) + k * size + first, size, ahead, rows, now, v[o]);
            take(v, place, now);
            results.put_square(v[operands - 1], k, first, now, rows);
            if constexpr (F::places) places.put_square(place, k, first, now, rows);
        }
    }
    if (l.stream) stream_fence();
}

/// The same along one line: nothing to fill a register with.
template <class F>
void step_alone(const cpu::ScanArgs& args) {
    using T = typename F::T;
    const F formula(args);
    typename F::State state{Vec<T>(F::start)};
    for (int64_t i = 0; i < args.n; ++i) {
        const int64_t t = args.reverse ? args.n - 1 - i : i;
        Vec<T> v[F::operands][1];
        Vec<typename F::Index> place[1];
        for (int o = 0; o < F::operands; ++o) v[o][0] = Vec<T>(F::from(args, o)[t]);
        formula.step(v, place, 0, i == 0, t, state);
        static_cast<T*>(args.out)[t] = first_lane(v[F::operands - 1][0]);
        if constexpr (F::places) args.index[t] = first_lane(place[0]);
    }
}

/// States of lines in memory.
template <class F, int64_t lines>
struct Kept {
    using T = typename F::T;
    using Index = typename F::Index;
    static constexpr int64_t size = lines + Vec<T>::lanes;
    alignas(64) T top[size];
    alignas(64) Index last[F::places ? size : 1] = {};
    MERCER_INLINE explicit Kept(int64_t count) {
        for (int64_t c = 0; c < count; ++c) top[c] = F::start;
    }
    MERCER_INLINE typename F::State load(int64_t c) const {
        if constexpr (F::places)
            return {Vec<T>::load(top + c), Vec<Index>::load(last + c)};
        else
            return {Vec<T>::load(top + c)};
    }
    MERCER_INLINE void store(const typename F::State& y, int64_t c) {
        y.top.store(top + c);
        if constexpr (F::places) y.last.store(last + c);
    }
};

/// The same along neighbouring columns, their states in the first-level cache.
template <class F>
void step_columns(const cpu::ScanArgs& args) {
    using T = typename F::T;
    constexpr int operands = F::operands;
    const F formula(args);
    Kept<F, cpu::columns_together> states(args.count);
    for (int64_t i = 0; i < args.n; ++i) {
        const int64_t t = args.reverse ? args.n - 1 - i : i, at = t * args.inner,
                      down = args.reverse ? -args.inner : args.inner,
                      next = i + 1 < args.n ? down : 0;
        const T* x[operands];
        for (int o = 0; o < operands; ++o) x[o] = F::from(args, o) + at;
        T* const out = static_cast<T*>(args.out) + at;
        for_run<T>(args.count, [&](int64_t c, int count) MERCER_STEP {
            Vec<T> v[operands][1];
            Vec<typename F::Index> place[1];
            for (int o = 0; o < operands; ++o) {
                __builtin_prefetch(x[o] + next + c);
                v[o][0] = load(x[o] + c, count, T(0));
            }
            typename F::State state = states.load(c);
            formula.step(v, place, 0, i == 0, t, state);
            states.store(state, c);
            put(v[operands - 1][0], out + c, count, args.stream);
            if constexpr (F::places) put_wide(place[0], args.index + at + c, count, args.stream);
        });
    }
    if (args.stream) stream_fence();
}

}  // namespace mercer::MERCER_ISA
