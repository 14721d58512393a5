// Σ g·x(·+offset_k) over a plane for each tap k: the adjoint of plane_correlate.h in its weights. A few columns at a time
// go down all rows, so that what sums up stays in registers.
#pragma once

#include "engine/cpu/kernels/held.h"
#include "engine/cpu/kernels/plane_walk.h"

namespace mercer::MERCER_ISA {
namespace {

/// n registers of columns from c on, and what is asked for on their way down: their part of the next plane and its g.
template <class T, int n, bool asks = true>
struct Strip {
    using V = Vec<T>;
    static constexpr int width = n * V::lanes;
    int64_t c;
    int left;  // columns there are
    cpu::Soon soon_x, soon_g;

    Strip(const PlaneWalk<T>& x, int64_t first, const T* next_g)
        : c(first), left(int(x.columns - first < width ? x.columns - first : width)) {
        if (!asks || !next_g) return;
        soon_x = share(x, x.soon);
        soon_g = share(x, {reinterpret_cast<const char*>(next_g), x.columns * int64_t(sizeof(T))});
    }
    MERCER_INLINE void next_row() {
        if constexpr (asks) {
            ask(soon_x, 0, 1);
            ask(soon_g, 0, 1);
            soon_x.at += soon_x.each, soon_g.at += soon_g.each;
        }
    }
    /// body(load): load(p, j) is register j of those at p, zeros where there are no columns.
    template <class Body>
    MERCER_INLINE void with_load(Body body) const {
        if (left == width)
            return body([](const T* p, int j) MERCER_STEP { return V::load(p + j * V::lanes); });
        body([=, left = left](const T* p, int j) MERCER_STEP {
            const int rest = left - j * V::lanes;
            return V::load(p + j * V::lanes,
                           rest < 0          ? 0
                           : rest < V::lanes ? rest
                                             : V::lanes,
                           T(0));
        });
    }

private:
    /// These columns' share of what is asked for with all.
    cpu::Soon share(const PlaneWalk<T>& x, const cpu::Soon& all) const {
        return {all.at + x.rows * all.each * c / x.columns, all.each * left / x.columns};
    }
};

/// Sums of `taps` taps, as they are kept in canonical lanes.
template <class T, int taps, int n>
struct StripSums {
    using V = Vec<T>;
    V of[taps][n];
    T* kept;
    StripSums(T* lanes, int64_t c) : kept(lanes + c % canonical_lanes) {
        each([](V& sum, T* at) MERCER_STEP { sum = V::load(at); });
    }
    void keep() {
        each([](V& sum, T* at) MERCER_STEP { sum.store(at); });
    }

private:
    template <class Body>
    MERCER_INLINE void each(Body body) {
        MERCER_UNROLL for (int k = 0; k < taps; ++k) MERCER_UNROLL for (int j = 0; j < n; ++j)
            body(of[k][j], kept + k * canonical_lanes + j * V::lanes);
    }
};

/// Three by three taps: a sample is read once for all that meet it.
template <class T, int n, bool asks>
struct SquareOfTaps {
    using V = Vec<T>;
    const PlaneWalk<T>& x;
    Strip<T, n, asks> strip;
    StripSums<T, 9, n> sum;
    V g[3][n];  // of the rows that the taps' rows meet

    template <class Load>
    MERCER_INLINE void next(const T* row, Load load) {
        MERCER_UNROLL for (int j = 0; j < n; ++j) {
            g[2][j] = g[1][j], g[1][j] = g[0][j];
            if (row) g[0][j] = load(row, j);
        }
        if (row) strip.next_row();
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
                MERCER_UNROLL for (int j = 0; j < n; ++j)
                    sum.of[3 * y + z][j] = fma(g[y][j], v[j], sum.of[3 * y + z][j]);
        }
    }
    template <class Load>
    MERCER_INLINE void down(const T* gradient, int64_t g_row, Load load) {
        const T* row = x.tile + strip.c;
        gradient += strip.c;
        next(gradient, load);
        meet<0, 0>(row, load);
        next(gradient += g_row, load);
        meet<0, 1>(row += x.row_step, load);
        for (int64_t r = 2; r < x.rows; ++r) {
            next(gradient += g_row, load);
            meet<0, 2>(row += x.row_step, load);
        }
        next(nullptr, load);
        meet<1, 2>(row += x.row_step, load);
        next(nullptr, load);
        meet<2, 2>(row += x.row_step, load);
        sum.keep();
    }
};

/// Any taps, so many from k on.
template <class T, int taps>
void taps_down(const PlaneWalk<T>& x, int64_t k, const T* g, int64_t g_row, const T* soon_g,
               T* lanes) {
    using V = Vec<T>;
    const int64_t rows = x.rows, row_step = x.row_step;
    int64_t offset[taps];
    MERCER_UNROLL for (int u = 0; u < taps; ++u) offset[u] = x.offsets[k + u];
    for (int64_t c = 0; c < x.columns; c += V::lanes) {
        Strip<T, 1> strip(x, c, k == 0 ? soon_g : nullptr);
        StripSums<T, taps, 1> sum(lanes + k * canonical_lanes, c);
        strip.with_load([&](auto load) MERCER_STEP {
            const T *row = x.tile + c, *gradient = g + c;
            for (int64_t r = 0; r < rows; ++r, row += row_step, gradient += g_row) {
                const V v = load(gradient, 0);
                strip.next_row();
                MERCER_UNROLL for (int u = 0; u < taps; ++u) sum.of[u][0] =
                    fma(v, load(row + offset[u], 0), sum.of[u][0]);
            }
        });
        sum.keep();
    }
}

template <class T, bool asks>
void squares_down(const PlaneWalk<T>& x, const T* g, int64_t g_row, const T* soon_g, T* lanes) {
    // What 32 registers of 64 bytes hold.
    constexpr int n = Vec<T>::lanes * int(sizeof(T)) >= 64 ? 2 : 1;
    for (int64_t c = 0; c < x.columns; c += n * Vec<T>::lanes) {
        SquareOfTaps<T, n, asks> square{x, {x, c, soon_g}, {lanes, c}, {}};
        square.strip.with_load([&](auto load) MERCER_STEP { square.down(g, g_row, load); });
    }
}

template <class T>
void correlate_weights(const PlaneWalk<T>& x, const T* g, int64_t g_row, const T* soon_g,
                       T* lanes) {
    if (x.lag == 3 && x.taps == 9 && x.offsets[0] < x.offsets[3] && x.rows > 1)
        return (soon_g ? squares_down<T, true> : squares_down<T, false>)(x, g, g_row, soon_g,
                                                                         lanes);
    constexpr int most = 8;  // of whose addresses the compiler keeps all
    int64_t parts = (x.taps + most - 1) / most;
    for (int64_t k = 0; k < x.taps; --parts) {
        const int64_t count = (x.taps - k + parts - 1) / parts;
        with_constant<most>(count, [&](auto part) MERCER_STEP {
            taps_down<T, part.value>(x, k, g, g_row, soon_g, lanes);
        });
        k += count;
    }
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
