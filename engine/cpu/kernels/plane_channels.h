// y = start + Σ_k w_k·x(·+offset_k), and its adjoint in w, over planes too narrow for registers of columns: a register has
// one sample of each of as many channels as it has lanes.
#pragma once

#include "engine/cpu/kernels/gemm_pack.h"
#include "engine/cpu/kernels/plane_walk.h"

namespace mercer::MERCER_ISA {
namespace {

// to[c·to_row + r] = from[r·from_row + c]: in squares of one register each way, the last ones over others, or, of what is
// smaller, by columns. Not inline: its registers would be saved for each short row of other steps.
template <class T>
MERCER_OUTLINE void turn(const T* from, int64_t rows, int64_t columns, int64_t from_row, T* to,
                         int64_t to_row) {
    constexpr int64_t n = wide_bytes / sizeof(T);
    if (rows < n || columns < n) {
        for (int64_t c = 0; c < columns; ++c)
            for (int64_t r = 0; r < rows; ++r) to[c * to_row + r] = from[r * from_row + c];
        return;
    }
    for (int64_t r = 0; r < rows; r += n)
        for (int64_t c = 0; c < columns; c += n) {
            const int64_t y = r + n > rows ? rows - n : r, x = c + n > columns ? columns - n : c;
            const T* in[n];
            MERCER_UNROLL for (int i = 0; i < n; ++i) in[i] = from + (y + i) * from_row;
            transpose(in, x, to + x * to_row + y, to_row);
        }
}

// Planes of as many channels as a register has lanes, `from` each `count` elements: a register of their elements after the
// other, and after each row of `columns` so many elements that stay as they are.
template <class T>
MERCER_OUTLINE void turn_planes(const T* from, int64_t count, int64_t columns, int64_t gap, T* to) {
    constexpr int64_t w = Vec<T>::lanes, n = wide_bytes / sizeof(T);
    if (count < n || w < n) {
        for (int64_t i = 0; i < count; ++i)
            for (int64_t c = 0; c < w; ++c)
                to[(i + i / columns * gap) * w + c] = from[c * count + i];
        return;
    }
    for (int64_t i = 0; i < count; i += n) {
        const int64_t first = i + n > count ? count - n : i;
        const T* in[n];
        MERCER_UNROLL for (int c = 0; c < n; ++c) in[c] = from + c * count;
        Wide<T> r[n];
        transposed(in, first, r);
        int64_t left = columns - first % columns;
        T* out = to + (first + first / columns * gap) * w;
        MERCER_UNROLL for (int p = 0; p < n; ++p) {
            hold(out);
            __builtin_memcpy(out, &r[p], wide_bytes);
            const bool ends = --left == 0;
            out += w + (ends ? gap * w : 0);
            left = ends ? columns : left;
        }
    }
}

/// `rows` rows of n outputs each: the first row meets row s of x with row s of the taps, the next one with the row before.
template <class T, int rows, int n>
MERCER_INLINE void channel_rows(const cpu::ChannelWalk<T>& x, int64_t r, int64_t c, Vec<T> start) {
    using V = Vec<T>;
    constexpr int64_t w = V::lanes;
    const int64_t down = x.taps_down, across = x.taps_across,
                  on = rows > 1 && x.down[1] < x.down[0] ? -1 : 1, first = on < 0 ? r + 1 : r;
    // What each row of taps adds where there are no samples.
    const T* const outside = x.weights + down * across * w;
    V sum[rows][n];
    MERCER_UNROLL for (int p = 0; p < rows; ++p) MERCER_UNROLL for (int j = 0; j < n; ++j)
        sum[p][j] = start;
    const auto meet = [&](int64_t s, auto lo, auto hi) MERCER_STEP {
        constexpr int top = lo.value, bottom = hi.value;
        const int64_t y = rows > 1 ? first + x.down[0] + on * s : r + x.down[s];
        V weight[rows];
        if (y < 0 || y >= x.rows) {
            MERCER_UNROLL for (int p = top; p <= bottom; ++p) {
                weight[p] = V::load(outside + (s - p) * w);
                MERCER_UNROLL for (int j = 0; j < n; ++j) sum[p][j] = sum[p][j] + weight[p];
            }
            return;
        }
        const T* const row = x.tile + (y * x.row + c - x.left) * w;
        const T* at_weight = x.weights + s * across * w;
        for (int64_t k = 0; k < across; ++k, at_weight += w) {
            const T* at = row + x.across[k] * w;
            hold(at);
            MERCER_UNROLL for (int p = top; p <= bottom; ++p) weight[p] =
                V::load(at_weight - p * across * w);
            MERCER_UNROLL for (int j = 0; j < n; ++j) {
                V v = V::load(at + j * w);
                if constexpr (top < bottom) hold(v);
                MERCER_UNROLL for (int p = top; p <= bottom; ++p) sum[p][j] =
                    fma(weight[p], v, sum[p][j]);
            }
        }
    };
    constexpr std::integral_constant<int, 0> lo;
    constexpr std::integral_constant<int, rows - 1> hi;
    if constexpr (rows > 1) meet(0, lo, lo);
    for (int64_t s = rows - 1; s < down; ++s) meet(s, lo, hi);
    if constexpr (rows > 1) meet(down, hi, hi);
    MERCER_UNROLL for (int p = 0; p < rows; ++p) {
        T* const at = x.plane + ((first + on * p) * x.out_columns + c) * w;
        MERCER_UNROLL for (int j = 0; j < n; ++j) sum[p][j].store(at + j * w);
    }
}

template <class T>
void correlate_channels(const cpu::ChannelWalk<T>& x, const T* source, const T* weights,
                        const T* bias, T* out, int64_t kept) {
    using V = Vec<T>;
    constexpr int64_t w = V::lanes;
    const int64_t in = x.rows * x.columns, outs = x.out_rows * x.out_columns,
                  across = x.taps_across, taps = x.taps_down * across;
    if (weights) {
        turn(weights, w, taps, taps, x.weights, w);
        for (int64_t i = 0; i < x.taps_down; ++i) {
            V sum(T(-0.0));  // to which any zero can be added, and is then the sum
            for (int64_t k = i * across; k < (i + 1) * across; ++k)
                sum = fma(V::load(x.weights + k * w), V(T(0)), sum);
            sum.store(x.weights + (taps + i) * w);
        }
    }
    turn_planes(source, in, x.columns, x.row - x.columns, x.tile - x.left * w);
    const V start = bias ? V::load(bias) : V(T(0));
    constexpr int most = w * sizeof(T) < 64 ? 6 : 14;  // of 16 registers, and of 32
    const int64_t apart = x.taps_down > 1 ? x.down[1] - x.down[0] : 0;
    in_parts<2>(x.out_rows, apart * apart == 1 ? 2 : 1, [&](int64_t r, auto rows) MERCER_STEP {
        ask(x.soon, r, rows.value);
        in_parts<most>(x.out_columns, most, [&](int64_t c, auto columns) MERCER_STEP {
            channel_rows<T, rows.value, columns.value>(x, r, c, start);
        });
    });
    turn(x.plane + w - kept, outs, kept, w, out + (w - kept) * outs, outs);
}

/// Planes of x and of g turned, so far apart, and so many; a row's and an element's step in them.
template <class T>
struct TurnedPlanes {
    int64_t count, rows, x_row, apart, x_plane, g_row, g_plane;
};
/// Σ g·x down a column, of `down` rows of taps by `across`: row s of x meets row s − y of g with row y of the taps. Only
/// rows [begin, end) of x are there.
template <class T, int down, int across>
MERCER_INLINE void weights_of_column(const TurnedPlanes<T>& p, const T* x, const T* g,
                                     int64_t begin, int64_t end, T* sums, int64_t sums_row,
                                     int64_t sums_apart) {
    using V = Vec<T>;
    V sum[down][across];
    const auto each = [&](auto body) MERCER_STEP {
        MERCER_UNROLL for (int y = 0; y < down; ++y) MERCER_UNROLL for (int z = 0; z < across; ++z)
            body(sum[y][z], sums + y * sums_row + z * sums_apart);
    };
    each([](V& s, const T* at) MERCER_STEP { s = V::load(at); });
    const auto meet = [&](int64_t s, auto top, auto bottom) MERCER_STEP {
        constexpr int first = top.value, last = bottom.value;
        const T* at = x + s * p.x_row;
        V slope[down];
        MERCER_UNROLL for (int y = first; y <= last; ++y) slope[y] = V::load(g + (s - y) * p.g_row);
        MERCER_UNROLL for (int z = 0; z < across; ++z, at += p.apart) {
            hold(at);
            V v = V::load(at);
            if constexpr (down > 1) hold(v);
            MERCER_UNROLL for (int y = first; y <= last; ++y) sum[y][z] =
                fma(slope[y], v, sum[y][z]);
        }
    };
    constexpr std::integral_constant<int, 0> top;
    constexpr std::integral_constant<int, down - 1> bottom;
    for (int64_t b = 0; b < p.count; ++b, x += p.x_plane, g += p.g_plane) {
        int64_t s = begin;
        if (down > 1 && s == 0 && s < end) meet(s++, top, top);
        for (; s < (end < p.rows ? end : p.rows); ++s) meet(s, top, bottom);
        if (down > 1 && s < end) meet(s, bottom, bottom);
    }
    each([](V s, T* at) MERCER_STEP { s.store(at); });
}

// Sums of each tap by columns, which are canonical lanes; those beyond them are 0. Zeros around a plane are left out: a sum
// that begins with 0 is none the other for them, unless g is not finite.
template <class T>
void correlate_channel_weights(const cpu::ChannelWalk<T>& x, int64_t batch, const T* source,
                               int64_t next, const T* g, int64_t next_g, T* out, int64_t kept) {
    using V = Vec<T>;
    constexpr int64_t w = V::lanes;
    constexpr int most = w * sizeof(T) < 64 ? 6 : 8;  // beside as many in the next row
    const int64_t in = x.rows * x.columns, outs = x.out_rows * x.out_columns,
                  across = x.taps_across, taps = x.taps_down * across, n = x.out_columns;
    const int64_t apart = across > 1 ? x.across[1] - x.across[0] : 0;
    const bool lag = x.taps_down > 1 && x.down[1] - x.down[0] == 1;
    const auto sum = [&](int64_t k, int64_t c) MERCER_STEP { return x.weights + (k * n + c) * w; };
    for (int64_t i = 0; i < taps * n; ++i) V(T(0)).store(x.weights + i * w);
    for (int64_t b = 0; b < batch; b += x.together) {
        const int64_t left = batch - b, planes = left < x.together ? left : x.together;
        for (int64_t i = 0; i < planes; ++i, source += next, g += next_g) {
            turn_planes(source, in, in, 0, x.tile + i * in * w);
            turn_planes(g, outs, outs, 0, x.plane + i * outs * w);
        }
        const TurnedPlanes<T> p{planes, x.out_rows, x.columns * w, apart * w,
                                in * w, n * w,      outs * w};
        for (int64_t c = 0; c < n; ++c) {
            // This column's share of what comes next.
            for (int64_t i = 0; i < planes && i < left - planes; ++i) {
                ask({reinterpret_cast<const char*>(source + i * next),
                     in * w * int64_t(sizeof(T)) / n},
                    c, 1);
                ask({reinterpret_cast<const char*>(g + i * next_g),
                     outs * w * int64_t(sizeof(T)) / n},
                    c, 1);
            }
            const T* const slope = x.plane + c * w;
            // body(z) with each of g's elements in the column
            const auto each = [&](auto body) MERCER_STEP {
                for (int64_t i = 0; i < planes; ++i)
                    for (int64_t r = 0; r < x.out_rows; ++r)
                        body(r, V::load(slope + i * p.g_plane + r * p.g_row));
            };
            V outside(T(0));
            each([&](int64_t, V v) MERCER_STEP { outside = fma(v, V(T(0)), outside); });
            int64_t from = 0, to = across;  // the taps that meet x
            while (from < to && c + x.across[from] < 0) ++from;
            while (from < to && c + x.across[to - 1] >= x.columns) --to;
            in_parts<2>(x.taps_down, lag ? 2 : 1, [&](int64_t i, auto down) MERCER_STEP {
                const int64_t y = x.down[i], end = x.out_rows + down.value - 1, left = x.rows - y;
                in_parts<most>(to - from, most, [&](int64_t z, auto width) MERCER_STEP {
                    const int64_t column = c + x.across[from + z];
                    weights_of_column<T, down.value, width.value>(
                        p, x.tile + (y * x.columns + column) * w, slope, y < 0 ? -y : 0,
                        end < left ? end : left, sum(i * across + from + z, c), across * n * w,
                        n * w);
                });
            });
            if (!any(outside != V(T(0)))) continue;
            for (int64_t k = 0; k < taps; ++k) {
                const int64_t y = x.down[k / across], z = k % across;
                V s = V::load(sum(k, c));
                each([&](int64_t r, V v) MERCER_STEP {
                    if (z < from || z >= to || r + y < 0 || r + y >= x.rows) s = fma(v, V(T(0)), s);
                });
                s.store(sum(k, c));
            }
        }
    }
    for (int64_t k = 0; k < taps; ++k) {
        for (int64_t h = canonical_lanes / 2; h > 0; h /= 2)
            for (int64_t c = 0; c < h && c + h < n; ++c)
                (V::load(sum(k, c)) + V::load(sum(k, c + h))).store(sum(k, c));
        (V::load(sum(k, 0)) + V(T(0))).store(x.weights + k * w);
    }
    turn(x.weights + w - kept, taps, kept, w, out + (w - kept) * taps, taps);
}

}  // namespace
}  // namespace mercer::MERCER_ISA
