// y = start + Σ_k w_k·x(·+offset_k), and its adjoint in w, over planes too narrow for registers of columns: a register has
// one sample of each of as many channels as it has lanes.
#pragma once

#include "engine/cpu/kernels/gemm_pack.h"
#include "engine/cpu/kernels/plane_walk.h"

namespace mercer::MERCER_ISA {
namespace {

// to[c·to_row + r] = from[r·from_row + c]: in squares of one register each way, the last ones over others, or, of what is
// smaller, by columns.
template <class T>
MERCER_INLINE void turn_squares(const T* from, int64_t rows, int64_t columns, int64_t from_row,
                                T* to, int64_t to_row) {
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
// Not inline: its registers would be saved for each short row of other steps.
template <class T>
MERCER_OUTLINE void turn(const T* from, int64_t rows, int64_t columns, int64_t from_row, T* to,
                         int64_t to_row) {
    turn_squares(from, rows, columns, from_row, to, to_row);
}
// Planes of as many channels as a register has lanes, each `count` elements: a register of their elements after the other.
template <class T>
MERCER_OUTLINE void turn_planes(const T* from, int64_t count, T* to) {
    turn_squares(from, Vec<T>::lanes, count, count, to, Vec<T>::lanes);
}

// And back: planes of the last `kept` lanes, one after the other.
template <class T>
MERCER_OUTLINE void turn_back(const T* from, int64_t count, int64_t kept, T* to) {
    constexpr int64_t w = Vec<T>::lanes, n = wide_bytes / sizeof(T);
    int64_t first = 0, end = 0;
    to -= (w - kept) * count;
    // What remains goes by squares too, over others, or element by element.
    for (; w >= n && end + n / 4 < count && n <= count; first = end) {
        if (first + n > count) first = count - n;
        const T* in[n];
        MERCER_UNROLL for (int i = 0; i < n; ++i) in[i] = from + (first + i) * w;
        Wide<T> r[n];
        transposed(in, 0, r);
        T* out = to + first;
        MERCER_UNROLL for (int64_t c = 0; c < n; ++c, out += count) {
            hold(out);
            if (c >= w - kept) __builtin_memcpy(out, &r[c], wide_bytes);
        }
        end = first + n;
    }
    for (; end < count; ++end)
        for (int64_t c = w - kept; c < w; ++c) to[c * count + end] = from[end * w + c];
}

/// Column c of outputs meets x with the taps [from, to) across.
template <class T>
MERCER_INLINE void taps_within(const cpu::ChannelWalk<T>& x, int64_t c, int64_t& from,
                               int64_t& to) {
    const auto outside = [&](int64_t k) MERCER_STEP {
        return c + x.across[k] < 0 || c + x.across[k] >= x.columns;
    };
    from = 0, to = x.taps_across;
    while (from < to && outside(from)) ++from;
    while (from < to && outside(to - 1)) --to;
}

/// Columns of a block of n rows: few rows take each sample for few outputs, and more columns fill the registers, 16 or 32.
constexpr int block_columns(int n, bool many) {
    return n == 1           ? (many ? 8 : 6)
           : n == 2         ? (many ? 8 : 4)
           : n == 3         ? (many ? 7 : 3)
           : n == 4 && many ? 4
                            : 2;
}
/// Outputs of rows first + step·m, m < n <= taps_down, and columns from c on. Row t of x, counted alike, meets them with row
/// t − m of the taps. Whether any of them is -0.
template <class T, int n, int columns>
MERCER_INLINE bool channel_block(const cpu::ChannelWalk<T>& x, int64_t first, int64_t step,
                                 int64_t c, Vec<T> start) {
    using V = Vec<T>;
    using Int = typename V::Int;
    constexpr int64_t w = V::lanes;
    const int64_t across = x.taps_across > 1 ? x.across[1] - x.across[0] : 0, row = x.columns * w;
    // In the order in which taps meet the columns: from `early` on.
    const int64_t other = across > 0 ? -w : w, early = across > 0 ? c + columns - 1 : c;
    int64_t from[columns], to[columns];
    MERCER_UNROLL for (int z = 0; z < columns; ++z)
        taps_within(x, across > 0 ? early - z : early + z, from[z], to[z]);
    MERCER_UNROLL for (int z = columns - 2; z >= 0; --z) if (from[z] == to[z]) from[z] = to[z] =
        from[z + 1];
    MERCER_UNROLL for (int z = 1; z < columns; ++z) if (from[z] == to[z]) from[z] = to[z] =
        to[z - 1];
    if constexpr (columns > 2)
        if (from[columns - 1] > to[0]) {  // no tap meets all
            bool any_is = false;
            for (int z = 0; z < columns; ++z)
                any_is |= channel_block<T, n, 1>(x, first, step, c + z, start);
            return any_is;
        }
    const int64_t apart = x.taps_down * w, next = across * w;
    int64_t y = first + x.down[0];
    const T *at_row = x.tile + (y * x.columns + early + x.across[0] + from[0] * across) * w,
            *weights = x.weights + from[0] * apart;
    V sum[columns][n];
    MERCER_UNROLL for (int z = 0; z < columns; ++z) MERCER_UNROLL for (int m = 0; m < n; ++m)
        sum[z][m] = start;
    const auto meet = [&](auto low, auto high) MERCER_STEP {
        if (y >= 0 && y < x.rows) {
            const T *at = at_row, *of = weights;
            int64_t k = from[0];
            // Up to the tap `last`, columns from `left` to `right`.
            const auto taps = [&](int64_t last, auto left, auto right) MERCER_STEP {
                for (; k < last; ++k, at += next, of += apart) {
                    hold(at), hold(of);
                    V v[columns];
                    MERCER_UNROLL for (int z = left.value; z <= right.value; ++z) {
                        v[z] = V::load(at + z * other);
                        hold(v[z]);
                    }
                    MERCER_UNROLL for (int m = low.value; m <= high.value; ++m) {
                        V u = V::load(of - (m - low.value) * w);
                        if constexpr (left.value < right.value) hold(u);
                        MERCER_UNROLL for (int z = left.value; z <= right.value; ++z) sum[z][m] =
                            fma(u, v[z], sum[z][m]);
                    }
                }
            };
            constexpr std::integral_constant<int, 0> left;
            constexpr std::integral_constant<int, columns - 1> right;
            using Sides = std::make_integer_sequence<int, columns - 1>;
            in_turn(Sides(), [&](auto z) MERCER_STEP { taps(from[z.value + 1], left, z); });
            taps(to[0], left, right);
            in_turn(Sides(), [&](auto z) MERCER_STEP {
                taps(to[z.value + 1], std::integral_constant<int, z.value + 1>(), right);
            });
        }
        y += step, at_row += step * row;
    };
    using Edge = std::make_integer_sequence<int, n - 1>;
    constexpr std::integral_constant<int, 0> low;
    constexpr std::integral_constant<int, n - 1> high;
    in_turn(Edge(), [&](auto last) MERCER_STEP { meet(low, last), weights += w; });
    for (int64_t t = n - 1; t < x.taps_down; ++t) meet(low, high), weights += w;
    weights -= w;
    in_turn(Edge(),
            [&](auto i) MERCER_STEP { meet(std::integral_constant<int, i.value + 1>(), high); });
    Int lowest(0);  // set bits: of -0 the sign
    T* out = x.plane + (first * x.out_columns + early) * w;
    MERCER_UNROLL for (int m = 0; m < n; ++m, out += step * x.out_columns * w)
        MERCER_UNROLL for (int z = 0; z < columns; ++z) {
        sum[z][m].store(out + z * other);
        lowest = lowest | (as_int(sum[z][m]) & (Int(0) - as_int(sum[z][m])));
    }
    return any(lowest < Int(0));
}
/// One output, zeros met like samples.
template <class T>
MERCER_OUTLINE void channel_output(const cpu::ChannelWalk<T>& x, int64_t r, int64_t c, Vec<T> sum) {
    using V = Vec<T>;
    constexpr int64_t w = V::lanes;
    for (int64_t i = 0; i < x.taps_down; ++i)
        for (int64_t k = 0; k < x.taps_across; ++k) {
            const int64_t y = r + x.down[i], z = c + x.across[k];
            const bool inside = y >= 0 && y < x.rows && z >= 0 && z < x.columns;
            sum = fma(V::load(x.weights + (k * x.taps_down + i) * w),
                      inside ? V::load(x.tile + (y * x.columns + z) * w) : V(T(0)), sum);
        }
    sum.store(x.plane + (r * x.out_columns + c) * w);
}

// Taps outside x are left out. If weights are finite, zeros that they add can only make +0 of -0: such outputs are met again.
template <class T>
void correlate_channels(const cpu::ChannelWalk<T>& x, const T* source, const T* weights,
                        const T* bias, T* out, int64_t kept) {
    using V = Vec<T>;
    constexpr int64_t w = V::lanes;
    const int64_t in = x.rows * x.columns, outs = x.out_rows * x.out_columns,
                  across = x.taps_across, down = x.taps_down, taps = down * across;
    T* const finite = x.weights + taps * w;  // 0, or NaN
    if (weights) {
        turn_planes(weights, taps, finite + w);
        V sum(T(0));
        const T* at = finite + w;
        for (int64_t i = 0; i < down; ++i)
            for (int64_t k = 0; k < across; ++k, at += w) {
                const V v = V::load(at);
                v.store(x.weights + (k * down + i) * w);
                sum = fma(v, V(T(0)), sum);
            }
        sum.store(finite);
    }
    turn_planes(source, in, x.tile);
    const V start = bias ? V::load(bias) : V(T(0)), nought = V::load(finite);
    const bool exact = any(nought != nought);
    constexpr int most = w * sizeof(T) < 64 ? 6 : 8;  // by two columns of 16 registers, and of 32
    const int64_t apart = down > 1 ? x.down[1] - x.down[0] : 1, step = apart < 0 ? -apart : apart;
    // Of rows so far apart; from the first one that samples meet on.
    for (int64_t q = 0, done = 0; q < step && q < x.out_rows; ++q) {
        const int64_t rows = (x.out_rows - q + step - 1) / step,
                      first = apart < 0 ? q + (rows - 1) * step : q;
        in_parts<most>(rows, down < most ? down : most, [&](int64_t m, auto n) MERCER_STEP {
            ask(x.soon, done, n.value);
            done += n.value;
            constexpr int wide = block_columns(n.value, most > 6);
            in_parts<wide>(x.out_columns, wide, [&](int64_t c, auto columns) MERCER_STEP {
                const int64_t r = first + m * apart;
                if (exact || channel_block<T, n.value, columns.value>(x, r, apart, c, start))
                    for (int i = 0; i < n.value; ++i)
                        for (int z = 0; z < columns.value; ++z)
                            channel_output<T>(x, r + i * apart, c + z, start);
            });
        });
    }
    turn_back(x.plane, outs, kept, out + (w - kept) * outs);
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
            turn_planes(source, in, x.tile + i * in * w);
            turn_planes(g, outs, x.plane + i * outs * w);
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
            auto outside = as_int(V(T(0)));  // with the bits of a NaN, a NaN
            each([&](int64_t, V v) MERCER_STEP { outside = outside | as_int(v * V(T(0))); });
            int64_t from, to;
            taps_within(x, c, from, to);
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
            if (!any(as_float(outside) != as_float(outside))) continue;
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
    int64_t half = canonical_lanes / 2;
    while (half >= n) half /= 2;
    for (int64_t k = 0; k < taps; ++k) {
        for (int64_t h = half; h > 0; h /= 2)
            for (int64_t c = 0; c < h && c + h < n; ++c)
                (V::load(sum(k, c)) + V::load(sum(k, c + h))).store(sum(k, c));
        (V::load(sum(k, 0)) + V(T(0))).store(x.weights + k * w);
    }
    turn_back(x.weights, taps, kept, out + (w - kept) * taps);
}

}  // namespace
}  // namespace mercer::MERCER_ISA
