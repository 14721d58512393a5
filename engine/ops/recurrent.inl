// Adjoints of the recurrent layers, step by step from the last to the first.
#pragma once

#include <initializer_list>
#include <vector>

#include "engine/ops/matmul.h"
#include "engine/ops/recurrent.h"

namespace mercer {

/// What the texts of lstm and gru share: steps in their order, parts of a step's row, sequences that have ended.
template <class X>
struct Steps {
    int64_t count, batch, units;
    bool reverse;
    Tensor lengths;
    DType dtype;

    int64_t time(int64_t step) const { return reverse ? count - 1 - step : step; }
    /// (B, width) of (T, B, width).
    X at(const X& all, int64_t step) const {
        return reshape(slice(all, 0, time(step), time(step) + 1), {batch, all.size(2)});
    }
    X part(const X& row, int k) const { return slice(row, 1, k * units, (k + 1) * units); }
    /// (times, B, 1): which sequences still run at the times from `first` on.
    Tensor alive(int64_t first, int64_t times) const {
        const std::vector<int64_t> at = lengths.to_vector<int64_t>();
        Tensor mask = Tensor::empty({times, batch, 1}, DType::boolean);
        for (int64_t i = 0; i < times * batch; ++i)
            mask.mutable_data<bool>()[i] = first + i / batch < at[size_t(i % batch)];
        return mask;
    }
    /// a where the sequence is still running at the step, else b.
    X running(int64_t step, const X& a, const X& b) const {
        if (!lengths.defined()) return a;
        return where(reshape(alive(time(step), 1), {batch, 1}), a, b);
    }
    /// x (T, B, I), zero where a sequence has ended: what is there does not matter, but 0·NaN would.
    X inside(const X& x) const {
        return lengths.defined() ? where(alive(0, count), x, X(Tensor::zeros({}, dtype))) : x;
    }
    X zeros() const { return X(Tensor::zeros({batch, units}, dtype)); }
    /// All steps' rows, given in the order of the steps, along a new first axis.
    X join(std::vector<X> rows) const {
        if (reverse) rows = std::vector<X>(rows.rbegin(), rows.rend());
        return stack(std::span<const X>(rows), 0);
    }
};

/// a + b, where a or b may be undefined (zero).
template <class X>
X plus(const X& a, const X& b) {
    return !b.defined() ? a : !a.defined() ? b : a + b;
}

template <class X>
Lstm::Back<X> lstm_back(const Steps<X>& steps, const X& w_hh, const X& c0, const X& memory,
                        const X& dy, const X& dh_last, const X& dc_last, const X& more) {
    using Parts = std::initializer_list<X>;
    X dh = plus(steps.zeros(), dh_last), dc = plus(steps.zeros(), dc_last);
    std::vector<X> all(size_t(steps.count));
    for (int64_t s = steps.count; s-- > 0;) {
        const X m = steps.at(memory, s), extra = more.defined() ? steps.at(more, s) : X();
        const auto gate = [&](int k) { return steps.part(m, k); };
        const auto given = [&](int k) { return extra.defined() ? steps.part(extra, k) : X(); };
        const X i = gate(0), f = gate(1), g = gate(2), o = gate(3), t = tanh(gate(4));
        const X c_before = s == 0 ? c0 : steps.part(steps.at(memory, s - 1), 4);
        const X out = dy.defined() ? dh + steps.at(dy, s) : dh;
        const X held = plus(dc, given(4));
        const X cell = held + out * o * (1.0 - square(t));
        const X dz = concat(Parts{plus(cell * g, given(0)) * i * (1.0 - i),
                                  plus(cell * c_before, given(1)) * f * (1.0 - f),
                                  plus(cell * i, given(2)) * (1.0 - square(g)),
                                  plus(out * t, given(3)) * o * (1.0 - o)},
                            1);
        all[size_t(s)] = steps.running(s, dz, X(Tensor::zeros(dz.shape(), steps.dtype)));
        dh = steps.running(s, matmul(all[size_t(s)], w_hh), out);
        dc = steps.running(s, cell * f, held);
    }
    return {steps.join(all), dh, dc};
}

template <class X>
Gru::Back<X> gru_back(const Steps<X>& steps, const X& w_hh, const X& h0, const X& y,
                      const X& memory, const X& dy, const X& dh_last, const X& more) {
    using Parts = std::initializer_list<X>;
    X dh = plus(steps.zeros(), dh_last);
    std::vector<X> from_x(size_t(steps.count)), from_h = from_x;
    for (int64_t s = steps.count; s-- > 0;) {
        const X row = steps.at(memory, s), extra = more.defined() ? steps.at(more, s) : X();
        const auto given = [&](int k) { return extra.defined() ? steps.part(extra, k) : X(); };
        const X r = steps.part(row, 0), z = steps.part(row, 1), n = steps.part(row, 2),
                m = steps.part(row, 3);
        const X h_before = s == 0 ? h0 : steps.at(y, s - 1);
        const X out = dy.defined() ? dh + steps.at(dy, s) : dh;
        const X dn = plus(out * (1.0 - z), given(2)) * (1.0 - square(n));
        const X dr = plus(dn * m, given(0)) * r * (1.0 - r);
        const X dz = plus(out * (h_before - n), given(1)) * z * (1.0 - z);
        const X none(Tensor::zeros({steps.batch, 3 * steps.units}, steps.dtype));
        from_x[size_t(s)] = steps.running(s, concat(Parts{dr, dz, dn}, 1), none);
        from_h[size_t(s)] =
            steps.running(s, concat(Parts{dr, dz, plus(dn * r, given(3))}, 1), none);
        dh = steps.running(s, out * z + matmul(from_h[size_t(s)], w_hh), out);
    }
    return {steps.join(from_x), steps.join(from_h), dh};
}

/// Σ over steps of dzᵀ·(h before the step).
template <class X>
X recurrent_weights(const Steps<X>& steps, const X& dz, const X& y, const X& h0) {
    const X first = matmul(transpose(steps.at(dz, 0)), h0);
    if (steps.count == 1) return first;
    const int64_t late = steps.reverse ? 0 : 1, early = 1 - late, n = steps.count - 1;
    return first + matmul(transpose(flat_rows(slice(dz, 0, late, late + n))),
                          flat_rows(slice(y, 0, early, early + n)));
}

template <class X>
void Lstm::vjp(Vjp<X>& c, const Attrs& attrs) {
    const Shape y = c.out_shape(0);
    const Steps<X> steps{y[0], y[1], y[2], attrs.reverse, c.value(6), c.dtype()};
    Back<X> back;
    if constexpr (std::is_same_v<X, Tensor>) {
        const Tensor saved[] = {c.in(2), c.in(5), c.value(6), c.out(3)};
        const Tensor cotangents[] = {c.g(0), c.g(1), c.g(2), c.g(3)};
        back = backward(attrs, saved, cotangents);
    } else {
        back = lstm_back(steps, c.in(2), c.in(5), c.out(3), c.g(0), c.g(1), c.g(2), c.g(3));
    }
    const X dz = flat_rows(back.dz);
    if (c.wants(0)) c.give(0, reshape(matmul(dz, c.in(1)), c.in_shape(0)));
    if (c.wants(1)) c.give(1, matmul(transpose(dz), flat_rows(steps.inside(c.in(0)))));
    if (c.wants(2)) c.give(2, recurrent_weights(steps, back.dz, c.out(0), c.in(4)));
    if (c.wants(3)) c.give(3, sum(dz, {0}));
    if (c.wants(4)) c.give(4, back.dh);
    if (c.wants(5)) c.give(5, back.dc);
}

template <class X>
void Gru::vjp(Vjp<X>& c, const Attrs& attrs) {
    const Shape y = c.out_shape(0);
    const Steps<X> steps{y[0], y[1], y[2], attrs.reverse, c.value(6), c.dtype()};
    Back<X> back;
    if constexpr (std::is_same_v<X, Tensor>) {
        const Tensor saved[] = {c.in(2), c.in(5), c.value(6), c.out(0), c.out(2)};
        const Tensor cotangents[] = {c.g(0), c.g(1), c.g(2)};
        back = backward(attrs, saved, cotangents);
    } else {
        back = gru_back(steps, c.in(2), c.in(5), c.out(0), c.out(2), c.g(0), c.g(1), c.g(2));
    }
    const X dx = flat_rows(back.dx);
    if (c.wants(0)) c.give(0, reshape(matmul(dx, c.in(1)), c.in_shape(0)));
    if (c.wants(1)) c.give(1, matmul(transpose(dx), flat_rows(steps.inside(c.in(0)))));
    if (c.wants(2)) c.give(2, recurrent_weights(steps, back.dh_gates, c.out(0), c.in(5)));
    if (c.wants(3)) c.give(3, sum(dx, {0}));
    if (c.wants(4)) c.give(4, sum(flat_rows(back.dh_gates), {0}));
    if (c.wants(5)) c.give(5, back.dh);
}

std::array<MERCER_VALUE, 3> lstm(const MERCER_VALUE& x, const MERCER_VALUE& h0,
                                 const MERCER_VALUE& c0, const MERCER_VALUE& w_ih,
                                 const MERCER_VALUE& w_hh, const MERCER_VALUE& b_ih,
                                 const MERCER_VALUE& b_hh, const Tensor& lengths, bool reverse) {
    const auto given = recurrent_inputs("lstm", 4, x, w_ih, w_hh, {b_ih, b_hh}, {h0, c0}, lengths);
    auto [y, h, c, memory] =
        perform<Lstm>({reverse}, x, w_ih, w_hh, given.biases[0] + given.biases[1], given.states[0],
                       given.states[1], lengths);
    return {y, h, c};
}
std::array<MERCER_VALUE, 2> gru(const MERCER_VALUE& x, const MERCER_VALUE& h0,
                                const MERCER_VALUE& w_ih, const MERCER_VALUE& w_hh,
                                const MERCER_VALUE& b_ih, const MERCER_VALUE& b_hh,
                                const Tensor& lengths, bool reverse) {
    const auto given = recurrent_inputs("gru", 3, x, w_ih, w_hh, {b_ih, b_hh}, {h0, {}}, lengths);
    auto [y, h, memory] = perform<Gru>({reverse}, x, w_ih, w_hh, given.biases[0], given.biases[1],
                                        given.states[0], lengths);
    return {y, h};
}

}  // namespace mercer
