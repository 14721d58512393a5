// y = start + Σ_k w_k·x(·+offset_k) over a plane, and its adjoint in the weights: Σ g·x(·+offset_k) for each tap k. There a
// register of columns goes down all rows, so that what sums up stays in registers.
#pragma once

#include <type_traits>

#include "engine/cpu/kernels/held.h"
#include "engine/cpu/kernels/plane_walk.h"
#include "engine/cpu/kernels/row.h"

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

/// Taps in `down` rows of `across`: a sample is read once for all that meet it. Of one row they may lie anywhere.
template <class T, int down, int across>
struct TapsDown {
    using V = Vec<T>;
    using Edge = std::make_integer_sequence<int, down - 1>;
    V sum[down][across], g[down];  // of the rows that the taps' rows meet
    int64_t offset[across];

    template <int first, int last, class Load>
    MERCER_INLINE void meet(const T* row, Load load) {
        MERCER_UNROLL for (int z = 0; z < across; ++z) {
            const T* at = row + offset[z];
            hold(at);
            V v = load(at);
            if constexpr (down > 1) hold(v);
            MERCER_UNROLL for (int y = first; y <= last; ++y) sum[y][z] = fma(g[y], v, sum[y][z]);
        }
        MERCER_UNROLL for (int y = down - 1; y > 0; --y) g[y] = g[y - 1];
    }
    /// From tap k on, over the columns from c on that `load` reads.
    template <class Load>
    MERCER_INLINE void run(const PlaneWalk<T>& x, int64_t k, int64_t c, const T* gradient,
                           int64_t g_row, T* lanes, Load load) {
        // Sums as they are kept in canonical lanes.
        const auto each = [&](auto body) MERCER_STEP {
            MERCER_UNROLL for (int y = 0; y < down; ++y)
                MERCER_UNROLL for (int z = 0; z < across; ++z) body(
                    sum[y][z], lanes + (k + y * x.lag + z) * canonical_lanes + c % canonical_lanes);
        };
        each([](V& s, const T* at) MERCER_STEP { s = V::load(at); });
        MERCER_UNROLL for (int z = 0; z < across; ++z) offset[z] = x.offsets[k + z];
        const int64_t rows = x.rows, row_step = x.row_step;
        const T* row = x.tile + c;
        gradient += c;
        // These columns' share of the planes to come, asked for with the first taps.
        cpu::Soon soon[2] = {x.soon, x.soon_g};
        for (cpu::Soon& s : soon)
            s = k > 0 ? cpu::Soon()
                      : cpu::Soon{s.at + rows * s.each * c / x.columns,
                                  s.each * V::lanes / x.columns};
        const bool asks = soon[0].each || soon[1].each;  // else nothing but sums
        const auto next = [&](auto first, auto last, bool more) MERCER_STEP {
            if (more) g[0] = load(gradient);
            if (asks)
                for (cpu::Soon& s : soon) ask(s, 0, 1), s.at += s.each;
            meet<first.value, last.value>(row, load);
            gradient += g_row;
            row += row_step;
        };
        constexpr std::integral_constant<int, 0> top;
        constexpr std::integral_constant<int, down - 1> bottom;
        in_turn(Edge(), [&](auto last) MERCER_STEP { next(top, last, true); });
        for (int64_t i = down - 1; i < rows; ++i) next(top, bottom, true);
        in_turn(Edge(), [&](auto i) MERCER_STEP {
            next(std::integral_constant<int, i.value + 1>(), bottom, false);
        });
        each([](V s, T* at) MERCER_STEP { s.store(at); });
    }
};
template <class T, int down, int across>
void taps_down(const PlaneWalk<T>& x, int64_t k, const T* g, int64_t g_row, T* lanes) {
    using V = Vec<T>;
    int64_t c = 0;
    for (; c + V::lanes <= x.columns; c += V::lanes)
        TapsDown<T, down, across>().run(x, k, c, g, g_row, lanes,
                                        [](const T* p) MERCER_STEP { return V::load(p); });
    if (const int left = int(x.columns - c))
        TapsDown<T, down, across>().run(x, k, c, g, g_row, lanes, [left](const T* p) MERCER_STEP {
            return V::load(p, left, T(0));
        });
}

/// Of each row of taps those from `begin` to `end`.
template <class T>
void weights_down(const PlaneWalk<T>& x, int64_t rows, int64_t begin, int64_t end, const T* g,
                  int64_t g_row, T* lanes) {
    constexpr int most = Vec<T>::lanes * sizeof(T) < 64 ? 3 : 4;  // of 16 registers, and of 32
    const auto limit = [&](int64_t n) { return x.rows < n ? x.rows : n; };
    if (x.lag == 1)
        return in_parts<2 * most>(rows, limit(2 * most), [&](int64_t y, auto down) MERCER_STEP {
            taps_down<T, down.value, 1>(x, y, g, g_row, lanes);
        });
    in_parts<most>(rows, limit(most), [&](int64_t y, auto down) MERCER_STEP {
        constexpr int wide = down.value > 1 ? most : 8;  // whose addresses the compiler keeps
        in_parts<wide>(end - begin, wide, [&](int64_t z, auto across) MERCER_STEP {
            taps_down<T, down.value, across.value>(x, y * x.lag + begin + z, g, g_row, lanes);
        });
    });
}
template <class T>
void correlate_weights(const PlaneWalk<T>& x, const T* g, int64_t g_row, T* lanes, int64_t begin,
                       int64_t end) {
    if (x.lag) return weights_down(x, x.taps / x.lag, begin, end, g, g_row, lanes);
    PlaneWalk<T> rest = x;
    constexpr int64_t n = canonical_lanes;
    const int64_t whole = x.taps / n, more = x.taps % n, middle = begin > more ? begin : more;
    // Side by side, and not by chance that far from first to last, as by remainders of a stride.
    const auto away = [&](int64_t k) { return k == 0 || x.offsets[k] - x.offsets[0] == k; };
    if (x.rows == 1 && x.columns >= 2 * n && away(x.taps > 1) && away(x.taps - 1)) {
        // A line is a plane of rows one below the other, and so are its taps. Registers that are parts of lines take from
        // each several times: 32 KiB of both operands at a time, which stay near.
        const int64_t rows = x.columns / n, some = (1 << 14) / (n * int64_t(sizeof(T))),
                      most = part_of_line<T> ? some : rows;
        for (int64_t r = 0; r < rows; r += most) {
            const int64_t now = rows - r < most ? rows - r : most;
            const PlaneWalk<T> plane{x.tile + r * n, n, now, n, x.offsets, x.taps, {}, n};
            weights_down(plane, whole + 1, begin, end < more ? end : more, g + r * n, n, lanes);
            weights_down(plane, whole, middle, end, g + r * n, n, lanes);
        }
        rest.tile += rows * n, rest.columns -= rows * n, g += rows * n;
    }
    for (int64_t k = 0; k < x.taps; k += n)
        weights_down(rest, 1, k + begin, k + end < x.taps ? k + end : x.taps, g, g_row, lanes);
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
