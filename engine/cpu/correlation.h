// Σ over channels and taps of a source, for outputs every so many apart: what a convolution is, and each part of its
// adjoint in x.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>

#include "engine/cpu/patches.h"

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

/// out = bias + Σ_(channel, tap) weights·source: what convolve does once, and convolve_transpose for each remainder
/// of the outputs modulo the stride.
template <class T>
struct Correlation {
    int64_t batch, groups, from, to;  // channels for each group
    Reach down, across;
    int64_t source_size[2], out_size[2];
    const T* source;
    const T* weights;  // (groups, to, from, taps of the reach), row-major
    const T* bias;     // (groups·to), or null for zeros
    T* out;

    int64_t taps() const { return int64_t(down.tap.size() * across.tap.size()); }
    bool in_place() const { return down.every == 1 && across.every == 1; }
    T* out_plane(int64_t entry, int64_t channel) const {
        return out + (entry * groups * to + channel) * out_size[0] * out_size[1];
    }
    /// The area's first output within a plane.
    int64_t origin(const Area& area) const {
        return (down.first + area.begin[0] * down.every) * out_size[1] + across.first +
               area.begin[1] * across.every;
    }
    Area all() const { return {{0, 0}, {down.count, across.count}}; }
    /// Outputs of one channel from their tile (rows of the area, so far apart) to where they belong.
    void scatter(const Area& area, const T* tile, T* plane) const {
        scatter(area, tile, area.columns(), 1, plane);
    }
    void scatter(const Area& area, const T* tile, int64_t row, int64_t column, T* plane) const {
        for (int64_t r = 0; r < area.rows(); ++r) {
            T* const to_row = plane + origin(area) + r * down.every * out_size[1];
            for (int64_t c = 0; c < area.columns(); ++c)
                to_row[c * across.every] = tile[r * row + c * column];
        }
    }
    /// All outputs of a channel that no tap reaches.
    void fill_bias(int64_t channel, T* plane) const {
        const T value = bias ? bias[channel] : T(0);
        scatter(all(), &value, 0, 0, plane);
    }
};

/// All parts of a result.
template <class T>
void correlate_all(std::span<const Correlation<T>> parts);

}  // namespace mercer::cpu
