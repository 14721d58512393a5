// y = start + Σ_k w_k·x(·+offset_k) over a plane.
#pragma once

#include <type_traits>

#include "engine/cpu/kernels/held.h"
#include "engine/cpu/kernels/plane_walk.h"

namespace mercer::MERCER_ISA {
namespace {

/// `phases` rows of outputs at once, which meet most samples together: the first meets row i of the samples with row i of
/// the taps, each further one with the row before. `width`: of the taps' rows; 0: any.
template <class T, int phases, int width>
struct CorrelateRows {
    using V = Vec<T>;
    const PlaneWalk<T>& x;
    const T *from, *weights, *start;
    T* first;
    int64_t next, down, across;
    // Registers lie side by side, or, of planes no wider than one, are of further rows.
    bool narrow;
    int64_t apart, out_apart;

    /// Samples of row i, which the outputs from `lo` to `hi` meet.
    template <int lo, int hi, int n>
    MERCER_INLINE void meet(int64_t i, const T* row, V (&sum)[phases][n]) const {
        const int64_t taps = width ? width : across, *offset = x.offsets + i * taps;
        const T* const w = weights + i * taps;
        const auto tap = [&](int64_t z) MERCER_STEP {
            const T* at = row + offset[z];
            hold(at);
            V v[n];
            MERCER_UNROLL for (int j = 0; j < n; ++j) {
                v[j] = V::load(at + j * apart);
                hold(v[j]);
            }
            MERCER_UNROLL for (int p = lo; p <= hi; ++p) MERCER_UNROLL for (int j = 0; j < n; ++j)
                sum[p][j] = fma(V(w[z - p * taps]), v[j], sum[p][j]);
        };
        if constexpr (width > 0)
            MERCER_UNROLL for (int z = 0; z < width; ++z) tap(z);
        else
            for (int64_t z = 0; z < taps; ++z) tap(z);
    }
    template <int n>
    MERCER_INLINE void run(int64_t c) const {
        const T* const row = from + c / V::lanes * apart;
        T* const to = first + c / V::lanes * out_apart;
        V sum[phases][n];
        const auto each = [&](auto body) MERCER_STEP {
            MERCER_UNROLL for (int p = 0; p < phases; ++p) MERCER_UNROLL for (int j = 0; j < n; ++j)
                body(sum[p][j], to + p * next + j * out_apart,
                     narrow ? x.columns : x.columns - c - j * V::lanes);
        };
        each([&](V& s, const T* at, int64_t left) MERCER_STEP {
            if (start)
                s = V(*start);
            else
                s = V::load(at, int(left < 0 ? 0 : left < V::lanes ? left : V::lanes), T(0));
        });
        for (int64_t i = 0; i < phases - 1; ++i)
            with_constant<phases - 1>(
                i + 1, [&](auto count) MERCER_STEP { meet<0, count.value - 1>(i, row, sum); });
        for (int64_t i = phases - 1; i < down; ++i) meet<0, phases - 1>(i, row, sum);
        for (int64_t i = 1; i < phases; ++i)
            with_constant<phases - 1>(i, [&](auto lo) MERCER_STEP {
                meet<lo.value, phases - 1>(down - 1 + i, row, sum);
            });
        each([&](V s, T* at, int64_t left) MERCER_STEP { store_within(s, at, 0, left); });
    }
};
template <class T>
void correlate(const PlaneWalk<T>& x, const T* weights, const T* start, T* out, int64_t out_row) {
    constexpr int w = Vec<T>::lanes;
    const bool back = x.lag && x.offsets[cpu::rows_together * x.lag] < x.offsets[0],
               narrow = x.columns <= w;
    const int64_t down = x.lag ? x.taps / x.lag : 1;
    int64_t r = 0;
    const auto rows = [&](auto phases, auto width, int64_t down, int64_t across_taps) MERCER_STEP {
        constexpr int n = phases.value, last = n - 1;
        // What 32 registers of 64 bytes hold, and 16 others.
        constexpr int most = n == 4 && w * sizeof(T) < 64 ? 2 : 4;
        for (const int64_t groups = narrow ? (x.rows - r) / n : 1; groups && r + n <= x.rows;
             r += groups * n) {
            ask(x.soon, r, groups * n);
            T* const to = out + r * out_row;
            const CorrelateRows<T, n, width.value> body{x,
                                                        x.tile + (back ? r + last : r) * x.row_step,
                                                        weights,
                                                        start,
                                                        back ? to + last * out_row : to,
                                                        back ? -out_row : out_row,
                                                        down,
                                                        across_taps,
                                                        narrow,
                                                        narrow ? n * x.row_step : w,
                                                        narrow ? n * out_row : w};
            across<T, most>(narrow ? groups * w : x.columns, body);
        }
    };
    using std::integral_constant;
    if (down >= 4 && x.lag == 1)
        rows(integral_constant<int, 4>(), integral_constant<int, 1>(), down, 1);
    else if (down >= 4)
        rows(integral_constant<int, 4>(), integral_constant<int, 0>(), down, x.lag);
    if (down > 1 && x.lag == 3)
        rows(integral_constant<int, 2>(), integral_constant<int, 3>(), down, 3);
    else if (down > 1)
        rows(integral_constant<int, 2>(), integral_constant<int, 0>(), down, x.lag);
    rows(integral_constant<int, 1>(), integral_constant<int, 0>(), 1, x.taps);
}

}  // namespace
}  // namespace mercer::MERCER_ISA
