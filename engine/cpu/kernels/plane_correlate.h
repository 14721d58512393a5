// y = start + Σ_k w_k·x(·+offset_k) over a plane.
#pragma once

#include <type_traits>

#include "engine/cpu/kernels/held.h"
#include "engine/cpu/kernels/plane_walk.h"

namespace mercer::MERCER_ISA {
namespace {

/// `phases` rows of outputs at once, which meet most samples together: the first meets row i of the samples with row i of
/// the taps, each further one with the row before. `width`: of the taps' rows; 0: any. `narrow`: registers are of further
/// rows, rather than side by side.
template <class T, int phases, int width, bool narrow>
struct CorrelateRows {
    using V = Vec<T>;
    const PlaneWalk<T>& x;
    const T *weights, *start;
    T* out;
    int64_t out_row, r, down, across;  // from row r of outputs on, with so many taps
    bool back;

    /// Samples of row i, which the outputs from `lo` to `hi` meet.
    template <int lo, int hi, int n>
    MERCER_INLINE void meet(int64_t i, const T* row, V (&sum)[phases][n]) const {
        const int64_t apart = narrow ? phases * x.row_step : V::lanes;
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
        const int64_t top = narrow ? r + c / V::lanes * phases : r, left = narrow ? 0 : c;
        const T* const row = x.tile + (back ? top + phases - 1 : top) * x.row_step + left;
        V sum[phases][n];
        const auto each = [&](auto body) MERCER_STEP {
            MERCER_UNROLL for (int p = 0; p < phases; ++p)
                MERCER_UNROLL for (int j = 0; j < n; ++j) {
                const int64_t y = top + (back ? phases - 1 - p : p) + (narrow ? j * phases : 0),
                              z = left + (narrow ? 0 : j * V::lanes);
                body(sum[p][j], out + y * out_row + z, y < x.rows ? x.columns - z : 0);
            }
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
    const bool back = x.lag && x.offsets[cpu::rows_together * x.lag] < x.offsets[0];
    const int64_t down = x.lag ? x.taps / x.lag : 1;
    int64_t r = 0;
    const auto rows = [&](auto narrow, auto phases, auto width, int64_t down,
                          int64_t across_taps) MERCER_STEP {
        constexpr int n = phases.value;
        // What 32 registers of 64 bytes hold, and 16 others.
        constexpr int most = n == 4 && w * sizeof(T) < 64 ? 2 : 4;
        // Of narrow ones all, and some more, of which nothing is kept.
        const int64_t groups = narrow.value ? (x.rows - r + n - 1) / n : 1;
        for (; narrow.value ? r < x.rows : r + n <= x.rows; r += groups * n) {
            ask(x.soon, r, groups * n);
            across<T, most>(narrow.value ? groups * w : x.columns,
                            CorrelateRows<T, n, width.value, narrow.value>{
                                x, weights, start, out, out_row, r, down, across_taps, back});
        }
    };
    const auto all = [&](auto narrow) MERCER_STEP {
        using std::integral_constant;
        if (down >= 4 && x.lag == 1)
            rows(narrow, integral_constant<int, 4>(), integral_constant<int, 1>(), down, 1);
        else if (down >= 4)
            rows(narrow, integral_constant<int, 4>(), integral_constant<int, 0>(), down, x.lag);
        if (down > 1 && x.lag == 3)
            rows(narrow, integral_constant<int, 2>(), integral_constant<int, 3>(), down, 3);
        else if (down > 1)
            rows(narrow, integral_constant<int, 2>(), integral_constant<int, 0>(), down, x.lag);
        rows(narrow, integral_constant<int, 1>(), integral_constant<int, 0>(), 1, x.taps);
    };
    if (x.columns <= w && cpu::rows_together * x.row_step + w <= cpu::patch_slack)
        all(std::true_type());
    else
        all(std::false_type());
}

}  // namespace
}  // namespace mercer::MERCER_ISA
