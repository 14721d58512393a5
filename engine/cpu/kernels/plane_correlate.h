// y = start + Σ_k w_k·x(·+offset_k) over a plane, and its adjoint in w.
#pragma once

#include <type_traits>

#include "engine/cpu/kernels/held.h"
#include "engine/cpu/kernels/plane_walk.h"

namespace mercer::MERCER_ISA {
namespace {

template <class T>
struct CorrelateRow {
    const PlaneWalk<T>& x;
    const T* from;
    const T* weights;
    T start;
    T* out;
    template <int n>
    MERCER_INLINE void run(int64_t c) const {
        Vec<T> sum[n];
        MERCER_UNROLL for (int j = 0; j < n; ++j) sum[j] = Vec<T>(start);
        over_taps<T, n>(x, from + c, sum, [&](Vec<T>& s, int64_t k, Vec<T> v) MERCER_STEP {
            s = fma(Vec<T>(weights[k]), v, s);
        });
        MERCER_UNROLL for (int j = 0; j < n; ++j)
            store_within(sum[j], out, c + j * Vec<T>::lanes, x.columns);
    }
};
/// Taps that form rows: of `across` each, one row of the tile from the other, or one back.
struct TapRows {
    int64_t down = 0, across = 0;
    bool back = false;
    template <class T>
    explicit TapRows(const PlaneWalk<T>& x) {
        for (int64_t w = 1; w < x.taps && !down; ++w) {
            back = x.offsets[w] < x.offsets[0];
            const int64_t apart = back ? -x.row_step : x.row_step;
            bool regular = x.taps % w == 0;
            for (int64_t k = 0; regular && k + w < x.taps; ++k)
                regular = x.offsets[k + w] - x.offsets[k] == apart;
            if (regular) down = x.taps / w, across = w;
        }
    }
};
/// Two rows of outputs at once, which meet most samples together. `width`: of the taps' rows; 0: any.
template <class T, int width>
struct CorrelateRows {
    const PlaneWalk<T>& x;
    const TapRows& taps;
    const T* from;
    const T* weights;
    T start;
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
        MERCER_UNROLL for (int j = 0; j < n; ++j) a[j] = b[j] = V(start);
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
void correlate(const PlaneWalk<T>& x, const T* weights, T start, T* out, int64_t out_row) {
    const TapRows taps(x);
    int64_t r = 0;
    const auto rows = [&](auto width, const T* from, T* upper, T* lower) MERCER_STEP {
        across<T>(x.columns, CorrelateRows<T, width.value>{x, taps, from, weights, start,
                                                           taps.back ? lower : upper,
                                                           taps.back ? upper : lower});
    };
    for (; taps.down > 1 && r + 2 <= x.rows; r += 2) {
        const T* const from = x.tile + r * x.row_step;
        T *const upper = out + r * out_row, *const lower = upper + out_row;
        if (taps.across == 3)
            rows(std::integral_constant<int, 3>(), from, upper, lower);
        else
            rows(std::integral_constant<int, 0>(), from, upper, lower);
    }
    for (; r < x.rows; ++r)
        across<T>(x.columns,
                  CorrelateRow<T>{x, x.tile + r * x.row_step, weights, start, out + r * out_row});
}

/// `n` taps at once, for each of which the partial sums stay in registers.
template <class T, int n>
void correlate_taps(const PlaneWalk<T>& x, int64_t k, const T* g, int64_t g_row, T* lanes) {
    using V = Vec<T>;
    constexpr int w = V::lanes, registers = canonical_lanes / w;
    V sum[n][registers];
    MERCER_UNROLL for (int u = 0; u < n; ++u) MERCER_UNROLL for (int i = 0; i < registers; ++i)
        sum[u][i] = V::load(lanes + (k + u) * canonical_lanes + i * w);
    const T* at[n];
    MERCER_UNROLL for (int u = 0; u < n; ++u) at[u] = x.tile + x.offsets[k + u];
    const int64_t rows = x.rows, columns = x.columns, row_step = x.row_step;
    for (int64_t r = 0; r < rows; ++r, g += g_row) {
        for (int64_t c = 0; c < columns; c += canonical_lanes)
            MERCER_UNROLL for (int i = 0; i < registers; ++i) {
                const int64_t from = c + i * w, left = columns - from;
                if (left <= 0) break;
                if (left >= w) {
                    const V gv = V::load(g + from);
                    MERCER_UNROLL for (int u = 0; u < n; ++u) sum[u][i] =
                        fma(gv, V::load(at[u] + from), sum[u][i]);
                } else {
                    const V gv = V::load(g + from, int(left), T(0));
                    MERCER_UNROLL for (int u = 0; u < n; ++u) sum[u][i] =
                        fma(gv, V::load(at[u] + from, int(left), T(0)), sum[u][i]);
                }
            }
        MERCER_UNROLL for (int u = 0; u < n; ++u) at[u] += row_step;
    }
    MERCER_UNROLL for (int u = 0; u < n; ++u) MERCER_UNROLL for (int i = 0; i < registers; ++i)
        sum[u][i]
            .store(lanes + (k + u) * canonical_lanes + i * w);
}

/// The taps from k on, at most `n` at once.
template <class T, int n>
MERCER_INLINE void correlate_from(const PlaneWalk<T>& x, int64_t k, const T* g, int64_t g_row,
                                  T* lanes) {
    for (; k + n <= x.taps; k += n) correlate_taps<T, n>(x, k, g, g_row, lanes);
    if constexpr (n > 1) correlate_from<T, n - 1>(x, k, g, g_row, lanes);
}
/// The sums of three by three taps, of `n` registers of columns at once: a sample is read once for all that meet it.
template <class T, int n>
struct SquareOfTaps {
    using V = Vec<T>;
    static constexpr int width = n * V::lanes;
    const PlaneWalk<T>& x;
    V sum[9][n], g[3][n];  // g of the rows that the taps' rows meet

    template <class Load>
    MERCER_INLINE void next(const T* row, int64_t g_row, Load load) {
        MERCER_UNROLL for (int j = 0; j < n; ++j) {
            g[2][j] = g[1][j], g[1][j] = g[0][j];
            if (!row) continue;
            // A few columns of each row at a time: the processor does not look ahead.
            __builtin_prefetch(row + 8 * g_row + j * V::lanes);
            g[0][j] = load(row, j);
        }
    }
    template <int first, int last, class Load>
    MERCER_INLINE void meet(const T* row, Load load) {
        MERCER_UNROLL for (int z = 0; z < 3; ++z) {
            const T* at = row + x.offsets[z];
            hold(at);
            V v[n];
            MERCER_UNROLL for (int j = 0; j < n; ++j) {
                v[j] = load(at, j);
                hold(v[j]);
            }
            MERCER_UNROLL for (int y = first; y <= last; ++y)
                MERCER_UNROLL for (int j = 0; j < n; ++j) sum[3 * y + z][j] =
                    fma(g[y][j], v[j], sum[3 * y + z][j]);
        }
    }
    template <class Load>
    MERCER_INLINE void down(const T* gradient, int64_t g_row, const T* row, Load load) {
        next(gradient, g_row, load);
        meet<0, 0>(row, load);
        next(gradient += g_row, g_row, load);
        meet<0, 1>(row += x.row_step, load);
        for (int64_t r = 2; r < x.rows; ++r) {
            next(gradient += g_row, g_row, load);
            meet<0, 2>(row += x.row_step, load);
        }
        next(nullptr, 0, load);
        meet<1, 2>(row += x.row_step, load);
        next(nullptr, 0, load);
        meet<2, 2>(row += x.row_step, load);
    }
    MERCER_INLINE void run(int64_t c, const T* gradient, int64_t g_row, T* lanes) {
        T* const kept = lanes + c % canonical_lanes;
        MERCER_UNROLL for (int k = 0; k < 9; ++k) MERCER_UNROLL for (int j = 0; j < n; ++j)
            sum[k][j] = V::load(kept + k * canonical_lanes + j * V::lanes);
        const int left = int(x.columns - c < width ? x.columns - c : width);
        if (left == width)
            down(gradient + c, g_row, x.tile + c,
                 [](const T* p, int j) MERCER_STEP { return V::load(p + j * V::lanes); });
        else
            down(gradient + c, g_row, x.tile + c, [=](const T* p, int j) MERCER_STEP {
                const int rest = left - j * V::lanes;
                return V::load(p + j * V::lanes,
                               rest < 0          ? 0
                               : rest < V::lanes ? rest
                                                 : V::lanes,
                               T(0));
            });
        MERCER_UNROLL for (int k = 0; k < 9; ++k) MERCER_UNROLL for (int j = 0; j < n; ++j)
            sum[k][j]
                .store(kept + k * canonical_lanes + j * V::lanes);
    }
};

template <class T>
void correlate_weights(const PlaneWalk<T>& x, const T* g, int64_t g_row, T* lanes) {
    // What 32 registers of 64 bytes hold.
    constexpr bool many = Vec<T>::lanes * int(sizeof(T)) >= 64;
    const TapRows taps(x);
    if (taps.down == 3 && taps.across == 3 && !taps.back && x.rows > 1) {
        using Square = SquareOfTaps<T, many ? 2 : 1>;
        for (int64_t c = 0; c < x.columns; c += Square::width)
            Square{x, {}, {}}.run(c, g, g_row, lanes);
        return;
    }
    correlate_from<T, !many ? 1 : sizeof(T) == 4 ? 5 : 3>(x, 0, g, g_row, lanes);
}

template <class T>
void join_lanes(const T* lanes, int64_t taps, T* out) {
    for (int64_t k = 0; k < taps; ++k) {
        Canonical<T, SumOp> sum;
        for (int i = 0; i < sum.registers; ++i)
            sum.part[i] = Vec<T>::load(lanes + k * canonical_lanes + i * Vec<T>::lanes);
        out[k] = sum.total();
    }
}

}  // namespace
}  // namespace mercer::MERCER_ISA
