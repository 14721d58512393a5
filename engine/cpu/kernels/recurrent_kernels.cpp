// LSTM  i, f, o = σ(z + b), g = tanh(z + b), c = f∘c' + i∘g, h = o∘tanh(c)
// GRU   r, z = σ(x + h + b), m = h_n + b_hn, n = tanh(x_n + b_n + r∘m), h = n + z∘(h' − n)
// and their adjoints. Traffic: each array once.
#include "engine/cpu/recurrent_table.h"

#include "engine/cpu/kernels/row.h"
#include "engine/simd/logistic.h"

namespace mercer::MERCER_ISA {
namespace {

/// A row of `parts` arrays of n elements each, read or written at one place.
template <class T>
struct Place {
    int64_t n, at;
    int count;
    MERCER_INLINE Vec<T> load(const T* row, int part = 0) const {
        return MERCER_ISA::load(row + part * n + at, count, T(1));
    }
    MERCER_INLINE Vec<T> load_or_zero(const T* row, int part = 0) const {
        return row ? load(row, part) : Vec<T>(T(0));
    }
    MERCER_INLINE void store(Vec<T> v, T* row, int part = 0) const {
        MERCER_ISA::store(v, row + part * n + at, count);
    }
    /// Part by part, from the first on.
    template <class... V>
    MERCER_INLINE void store_all(T* row, V... v) const {
        int part = 0;
        (store(v, row, part++), ...);
    }
};
template <class T, class Body>
MERCER_INLINE void over_units(int64_t n, Body body) {
    constexpr int w = Vec<T>::lanes;
    for (int64_t i = 0; i < n; i += w) body(Place<T>{n, i, int(n - i < w ? n - i : w)});
}

template <class V>
MERCER_INLINE V sigmoid_slope(V y) {
    return y * (V(typename V::Scalar(1)) - y);
}
template <class V>
MERCER_INLINE V tanh_slope(V y) {
    return V(typename V::Scalar(1)) - y * y;
}

template <class T>
void lstm(int64_t n, const T* bias, const T* c_before, T* memory, T* h) {
    using V = Vec<T>;
    over_units<T>(n, [&](Place<T> p) MERCER_STEP {
        const V i = sigmoid(p.load(memory, 0) + p.load(bias, 0));
        const V f = sigmoid(p.load(memory, 1) + p.load(bias, 1));
        const V g = tanh(p.load(memory, 2) + p.load(bias, 2));
        const V o = sigmoid(p.load(memory, 3) + p.load(bias, 3));
        const V c = fma(f, p.load(c_before), i * g);
        p.store_all(memory, i, f, g, o, c);
        p.store(o * tanh(c), h);
    });
}

template <class T>
void lstm_back(int64_t n, const T* memory, const T* c_before, const T* dy, const T* more, T* dh,
               T* dc, T* dz) {
    using V = Vec<T>;
    over_units<T>(n, [&](Place<T> p) MERCER_STEP {
        const V i = p.load(memory, 0), f = p.load(memory, 1), g = p.load(memory, 2),
                o = p.load(memory, 3), t = tanh(p.load(memory, 4));
        const V out = p.load(dh) + p.load_or_zero(dy);
        const V cell = fma(out * o, tanh_slope(t), p.load(dc)) + p.load_or_zero(more, 4);
        p.store(fma(cell, g, p.load_or_zero(more, 0)) * sigmoid_slope(i), dz, 0);
        p.store(fma(cell, p.load(c_before), p.load_or_zero(more, 1)) * sigmoid_slope(f), dz, 1);
        p.store(fma(cell, i, p.load_or_zero(more, 2)) * tanh_slope(g), dz, 2);
        p.store(fma(out, t, p.load_or_zero(more, 3)) * sigmoid_slope(o), dz, 3);
        p.store(cell * f, dc);
        p.store(V(T(0)), dh);
    });
}

template <class T>
void gru(int64_t n, const T* bias_x, const T* bias_h, const T* from_h, const T* h_before, T* memory,
         T* h) {
    using V = Vec<T>;
    over_units<T>(n, [&](Place<T> p) MERCER_STEP {
        const auto sum = [&](int part) MERCER_STEP {
            return (p.load(memory, part) + p.load(from_h, part)) +
                   (p.load(bias_x, part) + p.load(bias_h, part));
        };
        const V r = sigmoid(sum(0)), z = sigmoid(sum(1));
        const V m = p.load(from_h, 2) + p.load(bias_h, 2);
        const V c = tanh(fma(r, m, p.load(memory, 2) + p.load(bias_x, 2)));
        p.store(fma(z, p.load(h_before) - c, c), h);
        p.store_all(memory, r, z, c, m);
    });
}

template <class T>
void gru_back(int64_t n, const T* memory, const T* h_before, const T* dy, const T* more, T* dh,
              T* dx, T* dh_gates) {
    using V = Vec<T>;
    over_units<T>(n, [&](Place<T> p) MERCER_STEP {
        const V r = p.load(memory, 0), z = p.load(memory, 1), c = p.load(memory, 2),
                m = p.load(memory, 3);
        const V out = p.load(dh) + p.load_or_zero(dy);
        const V dc = fma(out, V(T(1)) - z, p.load_or_zero(more, 2)) * tanh_slope(c);
        const V dr = fma(dc, m, p.load_or_zero(more, 0)) * sigmoid_slope(r);
        const V dz = fma(out, p.load(h_before) - c, p.load_or_zero(more, 1)) * sigmoid_slope(z);
        p.store_all(dx, dr, dz, dc);
        p.store_all(dh_gates, dr, dz, fma(dc, r, p.load_or_zero(more, 3)));
        p.store(out * z, dh);
    });
}

}  // namespace

extern const cpu::RecurrentTable<float> cells_f32 = {lstm, lstm_back, gru, gru_back};
extern const cpu::RecurrentTable<double> cells_f64 = {lstm, lstm_back, gru, gru_back};

}  // namespace mercer::MERCER_ISA
