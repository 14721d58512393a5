// Sparsemax and entmax of rows whose threshold is known, how it is found, and back.
#pragma once

#include "attention/smoother/fused/log_row.h"
#include "engine/cpu/kernels/entmax_threshold.h"

namespace mercer::MERCER_ISA {
namespace {

using attention::SparseKind;
using attention::Statistics;

template <class T>
void hide(const LogTile<T>& t) {
    for (int64_t r = 0; r < t.rows; ++r) {
        T* z = t.z + r * t.row;
        const LogRow<T> logs(t, r, lower_end<T>);
        write_run(z, t.columns, false,
                  [&](int64_t i, int count) MERCER_STEP { return logs(i, count); });
    }
}

template <class T, EntmaxAlpha alpha>
T epsilon_of(const T* epsilon, int64_t row) {
    return alpha == EntmaxAlpha::two            ? T(1)
           : alpha == EntmaxAlpha::three_halves ? T(0.5)
                                                : epsilon[row];
}

/// The weights of row r: of logs that are −∞ throughout, 0, and NaN stays.
template <class T, EntmaxAlpha alpha>
struct RowWeights {
    bool nothing;
    Distribution<T, alpha> of_log;
    MERCER_INLINE RowWeights(const Statistics<T>& s, int64_t r, T epsilon)
        : nothing(s.of[0][r] == lower_end<T>),
          of_log(Threshold<T>{s.of[0][r], s.of[1][r], s.of[2][r]}, epsilon) {}
    MERCER_INLINE Vec<T> operator()(Vec<T> v) const {
        return nothing ? select(is_nan(v), v, Vec<T>(T(0))) : of_log(v);
    }
};

template <class T, EntmaxAlpha alpha>
void threshold_rows(int64_t rows, int64_t columns, const T* z, int64_t row, const T* epsilons,
                    bool for_alpha, const Statistics<T>& s) {
    for (int64_t r = 0; r < rows; ++r, z += row) {
        const T top = largest_of(z, columns), epsilon = epsilon_of<T, alpha>(epsilons, r);
        const bool nothing = top == lower_end<T>;
        const Threshold<T> at =
            nothing ? Threshold<T>{top, T(0), T(0)} : threshold<T, alpha>(z, columns, top, epsilon);
        s.of[0][r] = at.top, s.of[1][r] = at.s, s.of[2][r] = at.sum;
        if (!for_alpha) continue;
        s.of[3][r] = s.of[4][r] = T(0);
        if (nothing) continue;
        const Distribution<T, alpha> weight(at, epsilon);
        const AlphaSlope<T> slope(epsilon);
        Canonical<T, SumOp> entropy, second;
        canonical_run<T>(
            columns,
            [&](int64_t i, int count, Vec<T>& h_part, Vec<T>& second_part) MERCER_STEP {
                slope.add(weight(load(z + i, count, lower_end<T>)), h_part, second_part);
            },
            entropy, second);
        s.of[3][r] = entropy.total(), s.of[4][r] = second.total();
    }
}

template <class T, EntmaxAlpha alpha>
void sparse_rows(const LogTile<T>& t, const T* epsilons, const Statistics<T>& s) {
    for (int64_t r = 0; r < t.rows; ++r) {
        T* z = t.z + r * t.row;
        const T epsilon = epsilon_of<T, alpha>(epsilons, r);
        const RowWeights<T, alpha> weight(s, r, epsilon);
        const LogRow<T> logs(t, r, lower_end<T>);
        write_run(z, t.columns, false,
                  [&](int64_t i, int count) MERCER_STEP { return weight(logs(i, count)); });
    }
}

template <class T, EntmaxAlpha alpha>
void escort_rows(const LogTile<T>& t, const T* g, const T* epsilons, const Statistics<T>& s,
                 T* totals, T* sizes) {
    const Vec<T> zero(T(0));
    for (int64_t r = 0; r < t.rows; ++r, g += t.row) {
        const T epsilon = epsilon_of<T, alpha>(epsilons, r);
        const RowWeights<T, alpha> weight(s, r, epsilon);
        const LogRow<T> logs(t, r, lower_end<T>);
        Canonical<T, SumOp> total, size;
        canonical_run<T>(
            t.columns,
            [&](int64_t i, int count, Vec<T>& part, Vec<T>& size_part) MERCER_STEP {
                const Vec<T> e = escort_of<T, alpha>(weight(logs(i, count)), epsilon);
                part = select(e == zero, part, fma(e, load(g + i, count, T(0)), part));
                size_part = size_part + e;
            },
            total, size);
        totals[r] += total.total(), sizes[r] += size.total();
    }
}

template <class T, EntmaxAlpha alpha>
void unsparse_rows(const LogTile<T>& t, T* g, const T* epsilons, const Statistics<T>& s, const T* D,
                   T* dalpha) {
    const Vec<T> zero(T(0));
    T room[attention::tile_keys];
    for (int64_t r = 0; r < t.rows; ++r, g += t.row) {
        T* z = t.z + r * t.row;
        const T epsilon = epsilon_of<T, alpha>(epsilons, r);
        const RowWeights<T, alpha> weight(s, r, epsilon);
        const LogRow<T> logs(t, r, lower_end<T>);
        AlphaSlope<T> slope(epsilon);
        if (dalpha) slope.set(s.of[3][r], s.of[4][r]);
        Canonical<T, SumOp> escorts;
        canonical_for(escorts, t.columns, [&](Vec<T>& part, int64_t i, int count) MERCER_STEP {
            const Vec<T> p = logs.shown(weight(logs(i, count)), i),  // 0, though the row be NaN
                e = escort_of<T, alpha>(p, epsilon);
            store(p, z + i, count);
            store(e, room + i, count);
            part = part + e;
        });
        T mean = D[r];
        if (const T all = escorts.total(); t.whole && all != T(0))
            mean += weighted(t.columns, room, g) / all;
        const Vec<T> d(mean);
        Canonical<T, SumOp> sum;
        canonical_for(sum, t.columns, [&](Vec<T>& part, int64_t i, int count) MERCER_STEP {
            const Vec<T> e = load(room + i, count, T(0)), away = load(g + i, count, T(0)) - d;
            store(select(e == zero, zero, e * away), g + i, count);
            if (!dalpha) return;
            // Σ ∂p/∂α = 0: the mean takes nothing away but rounding.
            const Vec<T> p = load(z + i, count, T(0));
            part = part + select(p == zero, zero, away * p * slope(p));
        });
        if (dalpha) dalpha[r] += sum.total();
    }
}

template <class T>
void threshold(SparseKind kind, int64_t rows, int64_t columns, const T* z, int64_t row,
               const T* epsilon, bool for_alpha, const Statistics<T>& s) {
    constexpr decltype(&threshold_rows<T, EntmaxAlpha::two>) of[] = {
        threshold_rows<T, EntmaxAlpha::two>, threshold_rows<T, EntmaxAlpha::three_halves>,
        threshold_rows<T, EntmaxAlpha::any>};
    of[int(kind)](rows, columns, z, row, epsilon, for_alpha, s);
}
template <class T>
void sparse(SparseKind kind, const LogTile<T>& t, const T* epsilon, const Statistics<T>& s) {
    constexpr decltype(&sparse_rows<T, EntmaxAlpha::two>) of[] = {
        sparse_rows<T, EntmaxAlpha::two>, sparse_rows<T, EntmaxAlpha::three_halves>,
        sparse_rows<T, EntmaxAlpha::any>};
    of[int(kind)](t, epsilon, s);
}
template <class T>
void escorts(SparseKind kind, const LogTile<T>& t, const T* g, const T* epsilon,
             const Statistics<T>& s, T* totals, T* sizes) {
    constexpr decltype(&escort_rows<T, EntmaxAlpha::two>) of[] = {
        escort_rows<T, EntmaxAlpha::two>, escort_rows<T, EntmaxAlpha::three_halves>,
        escort_rows<T, EntmaxAlpha::any>};
    of[int(kind)](t, g, epsilon, s, totals, sizes);
}
template <class T>
void unsparse(SparseKind kind, const LogTile<T>& t, T* g, const T* epsilon, const Statistics<T>& s,
              const T* D, T* dalpha) {
    constexpr decltype(&unsparse_rows<T, EntmaxAlpha::two>) of[] = {
        unsparse_rows<T, EntmaxAlpha::two>, unsparse_rows<T, EntmaxAlpha::three_halves>,
        unsparse_rows<T, EntmaxAlpha::any>};
    of[int(kind)](t, g, epsilon, s, D, dalpha);
}

}  // namespace
}  // namespace mercer::MERCER_ISA
