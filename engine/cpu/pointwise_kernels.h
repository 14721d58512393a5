// Kernels of a pointwise formula over Vec<T>: included by kernel files and by map.h, once per
// instruction set. Memory traffic: each operand is read once, each result written once; nothing
// else.
#pragma once

#include "engine/cpu/pointwise.h"
#include "engine/ops/pointwise/derivative.h"

namespace mercer::MERCER_ISA {

/// The operands of one row: column c of operand k is at at[k] + (c & moves[k]), moves 0 or all ones.
template <class T, int n>
struct Row {
    const T* at[n];
    int64_t moves[n];

    MERCER_INLINE const T* place(int k, int64_t c) const { return at[k] + (c & moves[k]); }
    MERCER_INLINE Vec<T> load(int k, int64_t c) const { return Vec<T>::load(place(k, c)); }
    /// Asks for operand k's column c, which may lie beyond its end.
    MERCER_INLINE void prefetch(int k, int64_t c) const { __builtin_prefetch(place(k, c)); }
    /// Lanes beyond the first `count` hold 1, harmless in any formula.
    MERCER_INLINE Vec<T> load(int k, int64_t c, int count) const {
        return moves[k] ? Vec<T>::load(at[k] + c, count, T(1)) : Vec<T>::load(at[k]);
    }
};

/// Calls body(row, r, c, count) for runs of columns of every row. An operand that repeats a number stands
/// in `room` as a full register, one with larger strides is gathered there, `chunk` columns at a
/// time. An absent one is zeros.
template <class T, int n, class Body>
MERCER_INLINE void for_rows(const cpu::PointwiseArgs& a, Body body) {
    constexpr int64_t chunk = 128;
    alignas(64) T room[n][chunk];
    Row<T, n> row;  // apart from it, so that stores leave it in registers
    bool gathers = false;
    for (int k = 0; k < n; ++k) gathers |= a.in[k] && a.in_col[k] != 0 && a.in_col[k] != 1;
    for (int64_t r = 0; r < a.rows; ++r) {
#pragma GCC unroll 10
        for (int k = 0; k < n; ++k) {
            const T* p = static_cast<const T*>(a.in[k]);
            row.moves[k] = p && a.in_col[k] != 0 ? -1 : 0;
            row.at[k] = row.moves[k] ? p + r * a.in_row[k] : room[k];
            if (!row.moves[k] && (r == 0 || a.in_row[k] != 0))
                Vec<T>(p ? p[r * a.in_row[k]] : T(0)).store(room[k]);
        }
        if (!gathers) {
            body(row, r, 0, a.cols);
            continue;
        }
        for (int64_t c = 0; c < a.cols; c += chunk) {
            const int64_t rest = a.cols - c, count = rest < chunk ? rest : chunk;
#pragma GCC unroll 10
            for (int k = 0; k < n; ++k) {
                if (!row.moves[k]) continue;
                const T* p = static_cast<const T*>(a.in[k]) + r * a.in_row[k] + c * a.in_col[k];
                row.at[k] = p;
                if (a.in_col[k] == 1) continue;
                for (int64_t i = 0; i < count; ++i) room[k][i] = p[i * a.in_col[k]];
                row.at[k] = room[k];
            }
            body(row, r, c, count);
        }
    }
}

/// Elements (1 KiB) by which long runs may ask for their operands in advance.
template <class T>
inline constexpr int64_t fetch_ahead = 1024 / int64_t(sizeof(T));

/// Writes value_j(load) for every register of the run to out[j][c…], j < results; load(k) is
/// operand k.
template <class T, int results, int n, class Values>
MERCER_INLINE void sweep(const Row<T, n>& row, int64_t count, bool stream, bool ahead,
                         T* const (&out)[results], Values values) {
    constexpr int lanes = Vec<T>::lanes, run = int(512 / sizeof(T));
    // Parts of lines that go past the caches to several places in turns, the more so where these agree in their low 12 bits,
    // are slow (AVX2 on Zen 3: over twice as long): each place gets a run of lines.
    constexpr bool gathers = results > 1 && lanes > 1 && lanes * sizeof(T) < 64;
    alignas(64) T runs[gathers ? results : 1][gathers ? run : lanes];
    Vec<T> y[results];
    int64_t c = 0;
    for (; c + lanes <= count; c += lanes) {
        values(
            [&](int k) MERCER_STEP {
                if (lanes > 1 && ahead) row.prefetch(k, c + fetch_ahead<T>);
                return row.load(k, c);
            },
            y);
        if constexpr (gathers)
            if (stream && c < count / run * run) {
                const int64_t at = c % run;
#pragma GCC unroll 4
                for (int j = 0; j < results; ++j) y[j].store(runs[j] + at);
                if (at + lanes < run) continue;
                for (int j = 0; j < results; ++j)
#pragma GCC unroll 4
                    for (int i = 0; i < run; i += lanes)
                        Vec<T>::load(runs[j] + i).stream(out[j] + c - at + i);
                continue;
            }
#pragma GCC unroll 4
        for (int j = 0; j < results; ++j) stream ? y[j].stream(out[j] + c) : y[j].store(out[j] + c);
    }
    if (c == count) return;
    const int rest = int(count - c);
    values([&](int k) MERCER_STEP { return row.load(k, c, rest); }, y);
#pragma GCC unroll 4
    for (int j = 0; j < results; ++j) y[j].store(out[j] + c, rest);
}

/// Where result j of column c of row r goes.
template <class T>
MERCER_INLINE T* place(const cpu::PointwiseArgs& a, int j, int64_t r, int64_t c) {
    return static_cast<T*>(a.out[j]) + r * a.out_row + c;
}
/// Result j alone.
template <class T, int n, class Value>
MERCER_INLINE void sweep_one(const cpu::PointwiseArgs& a, int j, const Row<T, n>& row, int64_t r,
                             int64_t c, int64_t count, Value value) {
    T* const out[1] = {place<T>(a, j, r, c)};
    sweep<T, 1>(row, count, a.stream, a.ahead, out,
                [&](auto load, Vec<T>(&y)[1]) MERCER_STEP { y[0] = value(load); });
}

template <class Op>
MERCER_INLINE const Op& op_from(const void* state) {
    return *static_cast<const Op*>(state);
}
/// A formula without captures needs no state.
template <class Op>
requires(__is_empty(Op)) MERCER_INLINE Op op_from(const void*) { return Op{}; }

template <class Op, int n, class T>
MERCER_FLATTEN void pointwise_forward(const cpu::PointwiseArgs& a) {
    const auto& op = op_from<Op>(a.state);
    for_rows<T, n>(a, [&](const Row<T, n>& row, int64_t r, int64_t c, int64_t count) MERCER_STEP {
        sweep_one(a, 0, row, r, c, count, [&](auto load) MERCER_STEP {
            Vec<T> x[n];
#pragma GCC unroll 4
            for (int k = 0; k < n; ++k) x[k] = load(k);
            return apply(op, x);
        });
    });
    if (a.stream) stream_fence();
}

template <class Op>
constexpr unsigned needs_of(int arity) {
    if constexpr (requires { Op::needs; })
        return Op::needs;
    else
        return (1u << arity) - 1u;
}

/// Operands g, x₀…, y of a derivative kernel at one place; one that needs_of() does not name is not
/// read.
template <class Op, int n, class T>
struct Saved {
    Vec<T> g, x[n], y;
    template <class Load>
    MERCER_INLINE explicit Saved(Load load) : g(load(0)) {
        constexpr unsigned needs = needs_of<Op>(n);
#pragma GCC unroll 4
        for (int k = 0; k < n; ++k) x[k] = needs & (1u << k) ? load(1 + k) : Vec<T>(T(1));
        y = needs & needs_output ? load(1 + n) : Vec<T>(T(1));
    }
};

/// All gradients in one pass, where what they share is computed once, or, of a formula of several
/// operands, those that are wanted, one by one.
template <class Op, int n, class T>
MERCER_FLATTEN void pointwise_backward(const cpu::PointwiseArgs& a) {
    const auto& op = op_from<Op>(a.state);
    bool all = true;
    for (int j = 0; j < n; ++j) all = all && a.out[j];
    for_rows<T, n + 2>(a, [&](const auto& row, int64_t r, int64_t c, int64_t count) MERCER_STEP {
        if (all) {
            T* out[n];
            for (int j = 0; j < n; ++j) out[j] = place<T>(a, j, r, c);
            return sweep<T, n>(row, count, a.stream, a.ahead, out,
                               [&](auto load, Vec<T>(&d)[n]) MERCER_STEP {
                                   const Saved<Op, n, T> s(load);
                                   d[0] = s.g * partial<0>(op, s.x, s.y);
                                   if constexpr (n > 1) d[1] = s.g * partial<1>(op, s.x, s.y);
                                   if constexpr (n > 2) d[2] = s.g * partial<2>(op, s.x, s.y);
                                   if constexpr (n > 3) d[3] = s.g * partial<3>(op, s.x, s.y);
                               });
        }
        const auto one = [&]<int j>() MERCER_STEP {
            if (!a.out[j]) return;
            sweep_one(a, j, row, r, c, count, [&](auto load) MERCER_STEP {
                const Saved<Op, n, T> s(load);
                return s.g * partial<j>(op, s.x, s.y);
            });
        };
        if constexpr (n > 1) one.template operator()<0>(), one.template operator()<1>();
        if constexpr (n > 2) one.template operator()<2>();
        if constexpr (n > 3) one.template operator()<3>();
    });
    if (a.stream) stream_fence();
}

template <class Op, int n, class T>
MERCER_FLATTEN void pointwise_second(const cpu::PointwiseArgs& a) {
    const auto& op = op_from<Op>(a.state);
    for_rows<T, 2 * n + 2>(
        a, [&](const auto& row, int64_t r, int64_t c, int64_t count) MERCER_STEP {
            // Result 0 is ∂/∂g, 1 + j is ∂/∂x_j.
            const auto one = [&]<int result>() MERCER_STEP {
                if (!a.out[result]) return;
                sweep_one(a, result, row, r, c, count, [&](auto load) MERCER_STEP {
                    const Saved<Op, n, T> s(load);
                    Vec<T> direction[n];
#pragma GCC unroll 4
                    for (int k = 0; k < n; ++k) direction[k] = load(2 + n + k);
                    if constexpr (result == 0)
                        return directional(op, s.x, s.y, direction);
                    else
                        return s.g * second<result - 1>(op, s.x, s.y, direction).d;
                });
            };
            one.template operator()<0>();
            one.template operator()<1>();
            if constexpr (n > 1) one.template operator()<2>();
            if constexpr (n > 2) one.template operator()<3>();
            if constexpr (n > 3) one.template operator()<4>();
        });
    if (a.stream) stream_fence();
}

template <class Op, int n, class T>
constexpr cpu::PointwiseFn forward_on_integers() {
    if constexpr (requires { Op::integers; })
        return pointwise_forward<Op, n, T>;
    else
        return nullptr;
}

template <class Op, int n>
constexpr cpu::PointwiseKernels pointwise_kernels(int cost) {
    return {{pointwise_forward<Op, n, float>, pointwise_forward<Op, n, double>,
             forward_on_integers<Op, n, int32_t>(), forward_on_integers<Op, n, int64_t>()},
            {pointwise_backward<Op, n, float>, pointwise_backward<Op, n, double>},
            {pointwise_second<Op, n, float>, pointwise_second<Op, n, double>},
            n,
            needs_of<Op>(n),
            cost};
}

}  // namespace mercer::MERCER_ISA
