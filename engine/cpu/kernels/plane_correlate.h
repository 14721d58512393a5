// y = start + Σ_k w_k·x(·+offset_k) over a plane.
#pragma once

#include <type_traits>

#include "engine/cpu/kernels/held.h"
#include "engine/cpu/kernels/plane_walk.h"

namespace mercer::MERCER_ISA {
namespace {

/// What a sum begins with: *start, or what is there.
template <class T>
MERCER_INLINE Vec<T> begun(const T* start, const T* row, int64_t at, int64_t columns) {
    if (start) return Vec<T>(*start);
    if (at + Vec<T>::lanes <= columns) return Vec<T>::load(row + at);
    return Vec<T>::load(row + at, at < columns ? int(columns - at) : 0, T(0));
}
template <class T>
struct CorrelateRow {
    const PlaneWalk<T>& x;
    const T* from;
    const T* weights;
    const T* start;
    T* out;
    template <int n>
    MERCER_INLINE void run(int64_t c) const {
        Vec<T> sum[n];
        MERCER_UNROLL for (int j = 0; j < n; ++j) sum[j] =
            begun(start, out, c + j * Vec<T>::lanes, x.columns);
        over_taps<T, n>(x, from + c, sum, [&](Vec<T>& s, int64_t k, Vec<T> v) MERCER_STEP {
            s = fma(Vec<T>(weights[k]), v, s);
        });
        MERCER_UNROLL for (int j = 0; j < n; ++j)
            store_within(sum[j], out, c + j * Vec<T>::lanes, x.columns);
    }
};
/// Two rows of outputs at once, which meet most samples together. `width`: of the taps' rows; 0: any.
template <class T, int width>
struct CorrelateRows {
    const PlaneWalk<T>& x;
    const TapRows& taps;
    const T* from;
    const T* weights;
    const T* start;
    T *first, *second;  // in the order in which the rows of samples come
    /// One row of samples, which the taps at `now` meet for the first row of outputs, those at `before` for the second.
    template <bool begun, bool goes_on, int n>
    MERCER_INLINE void meet(const T* row, const T* now, const T* before, Vec<T> (&a)[n],
                            Vec<T> (&b)[n]) const {
        const auto tap = [&](int64_t z) MERCER_STEP {
            const T* at = row + x.offsets[z];
            hold(at);
            Vec<T> v[n];
            MERCER_UNROLL for (int j = 0; j < n; ++j) {
                v[j] = Vec<T>::load(at + j * Vec<T>::lanes);
                hold(v[j]);
            }
            if constexpr (goes_on)
                MERCER_UNROLL for (int j = 0; j < n; ++j) a[j] = fma(Vec<T>(now[z]), v[j], a[j]);
            if constexpr (begun)
                MERCER_UNROLL for (int j = 0; j < n; ++j) b[j] = fma(Vec<T>(before[z]), v[j], b[j]);
        };
        if constexpr (width > 0)
            MERCER_UNROLL for (int z = 0; z < width; ++z) tap(z);
        else
            for (int64_t z = 0; z < taps.across; ++z) tap(z);
    }
    template <int n>
    MERCER_INLINE void run(int64_t c) const {
        using V = Vec<T>;
        V a[n], b[n];
        MERCER_UNROLL for (int j = 0; j < n; ++j) {
            a[j] = begun(start, first, c + j * V::lanes, x.columns);
            b[j] = begun(start, second, c + j * V::lanes, x.columns);
        }
        const T *row = from + c + (taps.back ? x.row_step : 0), *w = weights;
        const int64_t next = taps.back ? -x.row_step : x.row_step,
                      step = width ? width : taps.across;
        meet<false, true>(row, w, nullptr, a, b);
        for (int64_t i = 1; i < taps.down; ++i, w += step) {
            row += next;
            meet<true, true>(row, w + step, w, a, b);
        }
        meet<true, false>(row + next, nullptr, w, a, b);
        MERCER_UNROLL for (int j = 0; j < n; ++j) {
            store_within(a[j], first, c + j * V::lanes, x.columns);
            store_within(b[j], second, c + j * V::lanes, x.columns);
        }
    }
};
template <class T>
void correlate(const PlaneWalk<T>& x, const T* weights, const T* start, T* out, int64_t out_row) {
    const TapRows taps(x);
    int64_t r = 0;
    const auto rows = [&](auto width, const T* from, T* upper, T* lower) MERCER_STEP {
        across<T>(x.columns, CorrelateRows<T, width.value>{x, taps, from, weights, start,
                                                           taps.back ? lower : upper,
                                                           taps.back ? upper : lower});
    };
    for (; taps.down > 1 && r + 2 <= x.rows; r += 2) {
        ask(x.soon, r, 2);
        const T* const from = x.tile + r * x.row_step;
        T *const upper = out + r * out_row, *const lower = upper + out_row;
        if (taps.across == 3)
            rows(std::integral_constant<int, 3>(), from, upper, lower);
        else
            rows(std::integral_constant<int, 0>(), from, upper, lower);
    }
    for (; r < x.rows; ++r) {
        ask(x.soon, r, 1);
        across<T>(x.columns,
                  CorrelateRow<T>{x, x.tile + r * x.row_step, weights, start, out + r * out_row});
    }
}

/// Outputs of a line by their remainder, in the order in which they meet the samples: most meet all.
template <class T>
struct CorrelateLine {
    static constexpr int phases = cpu::line_phases;
    using V = Vec<T>;
    const PlaneWalk<T>& x;
    const T* weights;
    const T* start;
    T* first;
    int64_t next;  // from the outputs of a remainder to those that meet a sample one tap earlier
    template <int n>
    MERCER_INLINE void run(int64_t c) const {
        V sum[phases][n];
        const auto each = [&](auto body) MERCER_STEP {
            MERCER_UNROLL for (int p = 0; p < phases; ++p) MERCER_UNROLL for (int j = 0; j < n; ++j)
                body(sum[p][j], first + p * next, c + j * V::lanes);
        };
        each([&](V& s, const T* row, int64_t at)
                 MERCER_STEP { s = begun(start, row, at, x.columns); });
        const auto meet = [&](int64_t t, auto all) MERCER_STEP {
            const T* const at = x.tile + x.offsets[t] + c;
            V v[n];
            MERCER_UNROLL for (int j = 0; j < n; ++j) {
                v[j] = V::load(at + j * V::lanes);
                hold(v[j]);
            }
            MERCER_UNROLL for (int p = 0; p < phases; ++p) {
                if (!all.value && (t < p || t - p >= x.taps)) continue;
                MERCER_UNROLL for (int j = 0; j < n; ++j) sum[p][j] =
                    fma(V(weights[t - p]), v[j], sum[p][j]);
            }
        };
        int64_t t = 0;
        for (; t < phases - 1; ++t) meet(t, std::false_type());
        for (; t < x.taps; ++t) meet(t, std::true_type());
        for (; t < x.taps + phases - 1; ++t) meet(t, std::false_type());
        each([&](const V& s, T* row, int64_t at)
                 MERCER_STEP { store_within(s, row, at, x.columns); });
    }
};
template <class T>
void correlate_line(const PlaneWalk<T>& x, const T* weights, const T* start, T* out,
                    int64_t out_row) {
    // What 32 registers of 64 bytes hold, and 16 others.
    constexpr int most = Vec<T>::lanes * int(sizeof(T)) >= 64 ? 4 : 2, last = cpu::line_phases - 1;
    const bool back = x.offsets[cpu::line_phases] < x.offsets[0];
    ask(x.soon, 0, 1);
    across<T, most>(x.columns,
                    CorrelateLine<T>{x, weights, start, back ? out + last * out_row : out,
                                     back ? -out_row : out_row});
}

}  // namespace
}  // namespace mercer::MERCER_ISA
