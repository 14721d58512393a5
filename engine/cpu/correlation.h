// Σ over channels and taps of a source, for outputs every so many apart: what a convolution is, and each part of its
// adjoint in x.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "engine/cpu/patches.h"
#include "engine/parallel.h"

namespace mercer::cpu {

inline constexpr int64_t panel_bytes = 40 << 10;
inline constexpr int64_t tile_bytes = 512 << 10;  // of an L2 of 1 MiB or more

/// Of k steps, so many at once with a panel `width` wide.
template <class T>
int64_t panel_depth(int64_t k, int width) {
    const int64_t most = std::max<int64_t>(8, panel_bytes / (width * int64_t(sizeof(T))));
    const int64_t blocks = (k + most - 1) / most;
    return (k + blocks - 1) / blocks;
}

/// out = bias + Σ_(channel, tap) weights·source: what convolve does once, and convolve_transpose for the remainders of
/// the outputs modulo the stride, together for those that read alike.
template <class T>
struct Correlation {
    int64_t batch, groups, from, to;  // channels for each group
    Reach down, across;
    // Of each axis, the outputs at which reaches begin: each pair has weights of its own.
    std::vector<int64_t> first[2] = {};
    int64_t source_size[2] = {}, out_size[2] = {};
    const T* source = nullptr;
    const T* weights = nullptr;  // (groups, rows, from·taps): rows (to, first[0], first[1])
    const T* bias = nullptr;     // (groups·to), or null for zeros
    T* out = nullptr;
    bool turned = false;  // weights are (groups, from·taps, rows)
    bool line =
        false;  // outputs modulo rows_together are rows: across reaches on to what the last one reads

    int64_t taps() const {
        return int64_t(down.offset.size() * across.offset.size()) - (line ? rows_together - 1 : 0);
    }
    int64_t rows() const { return int64_t(first[0].size() * first[1].size()) * to; }
    bool in_place() const { return down.every == 1 && across.every == 1; }
    int64_t plane() const { return out_size[0] * out_size[1]; }
    T* out_plane(int64_t entry, int64_t channel) const {
        return out + (entry * groups * to + channel) * plane();
    }
    /// How an area's outputs walk over its tile.
    PlaneWalk<T> walk(const Tiling& tiling, const Area& area, const T* tile,
                      Scratch& scratch) const {
        const int64_t lag = line ? 1 : down.lag(across),
                      more = lag && !line ? rows_together - 1 : 0;
        int64_t* const offsets = scratch.take<int64_t>((int64_t(down.offset.size()) + more) *
                                                       int64_t(across.offset.size()));
        tiling.offsets(down, across, offsets, more);
        return {tile,
                line ? 0 : tiling.row_step(),
                line ? rows_together : area.rows(),
                area.columns(),
                offsets,
                taps(),
                {},
                lag};
    }
    Area all() const { return {{0, 0}, {down.count, across.count}}; }
    /// An area's outputs, of a group's rows `next` apart, to where they belong.
    void scatter(const Area& area, const T* tile, int64_t next, T* planes) const {
        const ConvolutionTable<T>& table = convolution_kernels<T>();
        const int64_t many = int64_t(first[1].size()), begin = area.begin[1] * across.every,
                      left = out_size[1] - begin;
        for (int64_t i = 0; in_place() && i < to; ++i)  // one run
            std::copy_n(tile + i * next, area.count(),
                        planes + i * plane() + area.begin[0] * out_size[1] + begin);
        for (int64_t i = 0; !in_place() && i < to; ++i)
            for (int64_t f : first[0]) {
                for (int64_t r = 0; r < area.rows(); ++r) {
                    const int64_t row = f + (area.begin[0] + r) * down.every;
                    if (row >= out_size[0]) break;
                    T* const line = planes + i * plane() + row * out_size[1] + begin;
                    const T* from = tile + r * area.columns();
                    if (many == across.every) {
                        table.interleave(from, many, std::min(left, area.columns() * many), next,
                                         line);
                        continue;
                    }
                    for (int64_t at : first[1]) {
                        for (int64_t c = 0; c < area.columns() && at < left;
                             ++c, at += across.every)
                            line[at] = from[c];
                        from += next;
                    }
                }
                tile += many * next;
            }
    }
};

/// Makes x, before it is computed, a line by remainders, if it is one row of many taps side by side to one channel.
template <class T>
void part_line(Correlation<T>& x);

/// One plane to one plane of each channel: all parts of a result, for each remainder of the rows those of the columns.
template <class T>
void correlate_planes(std::span<const Correlation<T>> parts);
/// The same of any number of planes: as a product, or, to one channel, plane by plane.
template <class T>
void correlate(const Correlation<T>& x);

/// Planes of the bias, or of zeros.
template <class T>
void fill_planes(int64_t planes, int64_t channels, int64_t plane, const T* bias, T* out) {
    parallel_each(planes, grain_for(plane / 8 + 1), [&](int64_t i) {
        std::fill_n(out + i * plane, plane, bias ? bias[i % channels] : T(0));
    });
}

}  // namespace mercer::cpu
