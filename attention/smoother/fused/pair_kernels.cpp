#include "attention/smoother/fused/pair_table.h"
#include "engine/cpu/kernels/row.h"
#include "engine/simd/hyperbolic.h"

namespace mercer::MERCER_ISA {
namespace {

using attention::PairTile;

template <class T>
struct Slopes {
    Vec<T> q, k, w;  // ∂φ/∂q, ∂φ/∂k, ∂φ/∂w
};

struct Difference {
    template <class T>
    static MERCER_INLINE Vec<T> add(Vec<T> q, Vec<T> k, Vec<T>, Vec<T> sum) {
        const Vec<T> d = q - k;
        return fma(d, d, sum);
    }
    template <class T>
    static MERCER_INLINE Slopes<T> slopes(Vec<T> q, Vec<T> k, Vec<T>) {
        const Vec<T> d = q - k, twice = d + d;
        return {twice, -twice, Vec<T>(T(0))};
    }
};
struct Additive {
    template <class T>
    static MERCER_INLINE Vec<T> add(Vec<T> q, Vec<T> k, Vec<T> w, Vec<T> sum) {
        return fma(w, tanh(q + k), sum);
    }
    template <class T>
    static MERCER_INLINE Slopes<T> slopes(Vec<T> q, Vec<T> k, Vec<T> w) {
        const Vec<T> t = tanh(q + k), slope = w * (Vec<T>(T(1)) - t * t);
        return {slope, slope, t};
    }
};

/// Σ_h φ of query q and `abreast` registers of keys from k on, in sums of sums: fewer additions to a
/// large one.
template <class Pair, int abreast, class T, class Load>
MERCER_INLINE void sum_pairs(const PairTile<T>& x, const T* q, const T* k, Load load_keys,
                             Vec<T> (&sum)[abreast]) {
    for (int a = 0; a < abreast; ++a) sum[a] = Vec<T>(T(0));
    for (int64_t begin = 0; begin < x.width; begin += 16) {
        const int64_t end = begin + 16 < x.width ? begin + 16 : x.width;
        Vec<T> part[abreast];
        for (int a = 0; a < abreast; ++a) part[a] = Vec<T>(T(0));
        for (int64_t h = begin; h < end; ++h) {
            const Vec<T> qh(q[h]), w(x.weights ? x.weights[h] : T(0));
#pragma GCC unroll 4
            for (int a = 0; a < abreast; ++a)
                part[a] =
                    Pair::add(qh, load_keys(k + h * x.key_row + a * Vec<T>::lanes), w, part[a]);
        }
#pragma GCC unroll 4
        for (int a = 0; a < abreast; ++a) sum[a] = sum[a] + part[a];
    }
}

template <class Pair, class T>
MERCER_FLATTEN void scores(const PairTile<T>& x) {
    for (int64_t r = 0; r < x.rows; ++r) {
        const T* q = x.queries + r * x.width;
        T* out = x.scores + r * x.row;
        // Four registers of sums at a time: their chains run beside each other.
        constexpr int abreast = 4, lanes = Vec<T>::lanes;
        int64_t c = 0;
        for (; c + abreast * lanes <= x.columns; c += abreast * lanes) {
            Vec<T> sum[abreast];
            sum_pairs<Pair>(
                x, q, x.keys + c, [](const T* p) MERCER_STEP { return Vec<T>::load(p); }, sum);
            for (int a = 0; a < abreast; ++a) sum[a].store(out + c + a * lanes);
        }
        write_run(out + c, x.columns - c, false, [&](int64_t i, int count) MERCER_STEP {
            Vec<T> sum[1];
            sum_pairs<Pair>(
                x, q, x.keys + c + i, [&](const T* p) MERCER_STEP { return load(p, count, T(0)); },
                sum);
            return sum[0];
        });
    }
}

template <class Pair, class T>
MERCER_FLATTEN void backward(const PairTile<T>& x, T* dq, T* dk, T* dw) {
    for (int64_t r = 0; r < x.rows; ++r) {
        const T* g = x.scores + r * x.row;
        for (int64_t h = 0; h < x.width; ++h) {
            const Vec<T> q(x.queries[r * x.width + h]), w(x.weights ? x.weights[h] : T(0));
            const T* k = x.keys + h * x.key_row;
            T* to = dk ? dk + h * x.key_row : nullptr;
            Canonical<T, SumOp> q_sum, w_sum;
            canonical_run<T>(
                x.columns,
                [&](int64_t i, int count, Vec<T>& q_part, Vec<T>& w_part) MERCER_STEP {
                    const Vec<T> ds = load(g + i, count, T(0));
                    const Slopes<T> s = Pair::slopes(q, load(k + i, count, T(0)), w);
                    q_part = fma(ds, s.q, q_part);
                    w_part = fma(ds, s.w, w_part);
                    if (to) store(fma(ds, s.k, load(to + i, count, T(0))), to + i, count);
                },
                q_sum, w_sum);
            if (dq) dq[r * x.width + h] += q_sum.total();
            if (dw) dw[h] += w_sum.total();
        }
    }
}

template <class T>
constexpr attention::PairTable<T> table = {{scores<Difference, T>, scores<Additive, T>},
                                           {backward<Difference, T>, backward<Additive, T>}};

}  // namespace

extern const attention::PairTable<float> attend_pairs_f32;
extern const attention::PairTable<double> attend_pairs_f64;
const attention::PairTable<float> attend_pairs_f32 = table<float>;
const attention::PairTable<double> attend_pairs_f64 = table<double>;

}  // namespace mercer::MERCER_ISA
