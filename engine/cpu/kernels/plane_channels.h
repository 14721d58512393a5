// y = start + Σ_k w_k·x(·+offset_k) over planes too narrow for registers of columns: a register has one sample of each of
// as many channels as it has lanes.
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

template <class T>
void correlate_channels(const cpu::ChannelWalk<T>& x, const T* source, const T* weights,
                        const T* bias, T* out, int64_t kept) {
    using V = Vec<T>;
    constexpr int64_t w = V::lanes;
    const int64_t in = x.rows * x.columns, outs = x.out_rows * x.out_columns,
                  across = x.taps_across, taps = x.taps_down * across;
    T* const outside =
        x.weights + taps * w;  // what each row of them adds where there are no samples
    if (weights) {
        turn(weights, w, taps, taps, x.weights, w);
        for (int64_t i = 0; i < x.taps_down; ++i) {
            V sum(T(-0.0));  // to which any zero can be added, and is then the sum
            for (int64_t k = i * across; k < (i + 1) * across; ++k)
                sum = fma(V::load(x.weights + k * w), V(T(0)), sum);
            sum.store(outside + i * w);
        }
    }
    turn(source, w, in, in, x.plane, w);
    T* to = x.tile;
    for (int64_t y = 0; y < x.rows; ++y)
        for (int64_t c = x.left; c < x.left + x.row; ++c, to += w)
            (c < 0 || c >= x.columns ? V(T(0)) : V::load(x.plane + (y * x.columns + c) * w))
                .store(to);
    const V start = bias ? V::load(bias) : V(T(0));
    constexpr int most = w * sizeof(T) < 64 ? 12 : 14;  // of 16 registers, and of 32
    for (int64_t r = 0; r < x.out_rows; ++r)
        in_parts<most>(x.out_columns, most, [&](int64_t c, auto columns) MERCER_STEP {
            constexpr int n = columns.value;
            V sum[n];
            MERCER_UNROLL for (int j = 0; j < n; ++j) sum[j] = start;
            for (int64_t i = 0; i < x.taps_down; ++i) {
                const int64_t y = r + x.down[i];
                if (y < 0 || y >= x.rows) {
                    const V none = V::load(outside + i * w);
                    MERCER_UNROLL for (int j = 0; j < n; ++j) sum[j] = sum[j] + none;
                    continue;
                }
                const T* const row = x.tile + (y * x.row + c - x.left) * w;
                const T* const weight = x.weights + i * across * w;
                for (int64_t k = 0; k < across; ++k) {
                    const T* const at = row + x.across[k] * w;
                    const V v = V::load(weight + k * w);
                    MERCER_UNROLL for (int j = 0; j < n; ++j) sum[j] =
                        fma(v, V::load(at + j * w), sum[j]);
                }
            }
            T* const at = x.plane + (r * x.out_columns + c) * w;
            MERCER_UNROLL for (int j = 0; j < n; ++j) sum[j].store(at + j * w);
        });
    turn(x.plane + w - kept, outs, kept, w, out + (w - kept) * outs, outs);
}

}  // namespace
}  // namespace mercer::MERCER_ISA
