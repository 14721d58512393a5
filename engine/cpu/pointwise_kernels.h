// Kernels of a pointwise formula over Vec<T>: included by kernel files and by map.h, once per
// instruction set. Memory traffic: each operand is read once, each result written once; nothing
// else.
#pragma once

#include "engine/cpu/pointwise.h"
#include "engine/ops/pointwise/derivative.h"

namespace mercer::MERCER_ISA {

/// Lanes [c, c + n) of an operand whose elements are `stride` apart; lanes beyond hold 1, harmless
/// in any formula.
template <class T>
MERCER_INLINE Vec<T> load_lanes(const T* p, int64_t c, int64_t stride, int n) {
    constexpr int lanes = Vec<T>::lanes;
    if (stride == 1) return n == lanes ? Vec<T>::load(p + c) : Vec<T>::load(p + c, n, T(1));
    if (stride == 0) return Vec<T>(*p);
    T values[lanes];
    for (int i = 0; i < lanes; ++i) values[i] = i < n ? p[(c + i) * stride] : T(1);
    return Vec<T>::load(values);
}
template <class T>
MERCER_INLINE void store_lanes(Vec<T> v, T* p, int64_t c, int n) {
    if (n == Vec<T>::lanes)
        v.store(p + c);
    else
        v.store(p + c, n);
}

/// Calls body(r, c, n) for every register-wide piece; with `dense`, n is a constant but for the
/// last piece of a row.
template <int lanes, class Body>
MERCER_INLINE void for_lanes(int64_t rows, int64_t cols, Body body) {
    for (int64_t r = 0; r < rows; ++r) {
        int64_t c = 0;
        for (; c + lanes <= cols; c += lanes) body(r, c, lanes);
        if (c < cols) body(r, c, int(cols - c));
    }
}

template <class Op>
MERCER_INLINE const Op& op_from(const void* state) {
    return *static_cast<const Op*>(state);
}
/// A formula without captures needs no state.
template <class Op>
requires(__is_empty(Op)) MERCER_INLINE Op op_from(const void*) { return Op{}; }

template <class Op, int n, class T>
void pointwise_forward(const cpu::PointwiseArgs& a) {
    const auto& op = op_from<Op>(a.state);
    for_lanes<Vec<T>::lanes>(
        a.rows, a.cols, [&](int64_t r, int64_t c, int count) __attribute__((always_inline)) {
            Vec<T> x[n];
            for (int k = 0; k < n; ++k)
                x[k] = load_lanes(static_cast<const T*>(a.in[k]) + r * a.in_row[k], c, a.in_col[k],
                                  count);
            store_lanes(apply(op, x), static_cast<T*>(a.out[0]) + r * a.out_row, c, count);
        });
}

template <class Op>
constexpr unsigned needs_of(int arity) {
    if constexpr (requires { Op::needs; })
        return Op::needs;
    else
        return (1u << arity) - 1u;
}

template <class Op, int n, class T>
MERCER_INLINE void store_partials(const Op& op, const cpu::PointwiseArgs& a, int64_t r, int64_t c,
                                  int count, Vec<T> g, const Vec<T> (&x)[n], Vec<T> y) {
    // All partials before any store: in a straight line the compiler computes what they share once.
    Vec<T> d[4];
    d[0] = g * partial<0>(op, x, y);
    if constexpr (n > 1) d[1] = g * partial<1>(op, x, y);
    if constexpr (n > 2) d[2] = g * partial<2>(op, x, y);
    if constexpr (n > 3) d[3] = g * partial<3>(op, x, y);
    for (int j = 0; j < n; ++j)
        if (a.out[j]) store_lanes(d[j], static_cast<T*>(a.out[j]) + r * a.out_row, c, count);
}

/// Inputs g, x₀…, y of a derivative kernel at one place; an operand that needs_of() does not name
/// may be absent.
template <class Op, int n, class T>
MERCER_INLINE void load_saved(const cpu::PointwiseArgs& a, int64_t r, int64_t c, int count,
                              Vec<T>& g, Vec<T> (&x)[n], Vec<T>& y) {
    const auto in = [&](int k) __attribute__((always_inline)) {
        return load_lanes(static_cast<const T*>(a.in[k]) + r * a.in_row[k], c, a.in_col[k], count);
    };
    constexpr unsigned needs = needs_of<Op>(n);
    g = in(0);
    for (int k = 0; k < n; ++k) x[k] = needs & (1u << k) ? in(1 + k) : Vec<T>(T(1));
    y = needs & needs_output ? in(1 + n) : Vec<T>(T(1));
}

template <class Op, int n, class T>
void pointwise_backward(const cpu::PointwiseArgs& a) {
    const auto& op = op_from<Op>(a.state);
    for_lanes<Vec<T>::lanes>(
        a.rows, a.cols, [&](int64_t r, int64_t c, int count) __attribute__((always_inline)) {
            Vec<T> g, x[n], y;
            load_saved<Op, n, T>(a, r, c, count, g, x, y);
            store_partials<Op, n, T>(op, a, r, c, count, g, x, y);
        });
}

template <class Op, int n, class T>
void pointwise_second(const cpu::PointwiseArgs& a) {
    const auto& op = op_from<Op>(a.state);
    for_lanes<Vec<T>::lanes>(
        a.rows, a.cols, [&](int64_t r, int64_t c, int count) __attribute__((always_inline)) {
            Vec<T> g, x[n], y, direction[n];
            load_saved<Op, n, T>(a, r, c, count, g, x, y);
            for (int k = 0; k < n; ++k) {
                const int i = 2 + n + k;
                direction[k] = a.in[i]
                                   ? load_lanes(static_cast<const T*>(a.in[i]) + r * a.in_row[i], c,
                                                a.in_col[i], count)
                                   : Vec<T>(T(0));
            }
            if (a.out[0])
                store_lanes(directional(op, x, y, direction),
                            static_cast<T*>(a.out[0]) + r * a.out_row, c, count);
            const auto one = [&]<int j>() __attribute__((always_inline)) {
                if (a.out[1 + j])
                    store_lanes(g * second<j>(op, x, y, direction).d,
                                static_cast<T*>(a.out[1 + j]) + r * a.out_row, c, count);
            };
            one.template operator()<0>();
            if constexpr (n > 1) one.template operator()<1>();
            if constexpr (n > 2) one.template operator()<2>();
            if constexpr (n > 3) one.template operator()<3>();
        });
}

template <class Op, int n>
constexpr cpu::PointwiseKernels pointwise_kernels(int cost) {
    return {{pointwise_forward<Op, n, float>, pointwise_forward<Op, n, double>},
            {pointwise_backward<Op, n, float>, pointwise_backward<Op, n, double>},
            {pointwise_second<Op, n, float>, pointwise_second<Op, n, double>},
            n,
            needs_of<Op>(n),
            cost};
}

}  // namespace mercer::MERCER_ISA
