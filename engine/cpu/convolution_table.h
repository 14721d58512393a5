// Kernels of convolutions and pooling on one instruction set. All read a tile of the source: planes copied with their
// padding (patches.h), so that no kernel meets a border. They may read up to one register past a row and write up to
// `patch_slack` elements past a panel.
#pragma once

#include <cstdint>
#include <type_traits>

#include "engine/cpu/convolution.h"

namespace mercer::cpu {

/// Elements to spare behind a tile and behind a panel of any instruction set.
inline constexpr int64_t patch_slack = 1024;
/// Of canonical.h: partial sums kept for each tap.
inline constexpr int64_t weight_lanes = 64;

/// Rows of outputs that are computed together, each sample being read once for all; or a line's outputs modulo so many.
inline constexpr int64_t rows_together = 4;

/// `length` outputs in a row: their first sample of the tile is at `offset`, the others follow it.
struct Run {
    int64_t offset, length;
};

/// Memory to ask for while there is other work: so many bytes from here on for each row of outputs.
struct Soon {
    const char* at = nullptr;
    int64_t each = 0;
};

/// A plane of outputs: row r, column c reads tile[r·row_step + c + offsets[k]] for each tap k.
template <class T>
struct PlaneWalk {
    const T* tile;
    int64_t row_step, rows, columns;
    const int64_t* offsets;
    int64_t taps;
    Soon soon = {};  // the plane to be copied next
    int64_t lag =
        0;  // so many taps are a row, which the next row of outputs has where this one has the next; 0: no such rows
    Soon soon_g = {};  // the plane of a gradient to be met next
};

/// Planes of as many channels as a register has lanes: output (r, c) reads (r + down[i], c + across[j]), zeros outside.
template <class T>
struct ChannelWalk {
    int64_t rows, columns, out_rows, out_columns, taps_down, taps_across;
    const int64_t *down, *across;
    // Room by lanes: twice of taps and once more, of a plane of x, of a plane of outputs; for weights, of a sum for each tap
    // and column of outputs, and of so many planes of both.
    T *weights = nullptr, *tile = nullptr, *plane = nullptr;
    int64_t together = 1;
    Soon soon = {};  // the planes to be met next
};

/// What a sample is called, as wide as T.
template <class T>
using NameOf = std::conditional_t<sizeof(T) == 4, int32_t, int64_t>;

/// Lines of such planes that are searched at the same time.
inline constexpr int64_t lines_together = 2;
/// Room by lanes for planes whose windows are met together: planes, so many lines, and results before and after the second axis.
template <class T>
struct WindowRoom {
    T *tile = nullptr, *ends = nullptr, *tops = nullptr;
    NameOf<T>*end_names = nullptr, *names = nullptr;
    Soon soon = {};  // for each row of a plane
};

template <class T>
struct ConvolutionTable {
    /// to[r][j] = from[r][j], j < n, after `before` times `outside` and before as many of it as fill the row. Writes up
    /// to a register beyond the last row.
    void (*pad)(const T* from, int64_t rows, int64_t n, int64_t from_row, T outside, int64_t before,
                T* to, int64_t row);
    /// to[j mod step · part + j div step] = from[j], j < n.
    void (*split)(const T* from, int64_t step, int64_t n, int64_t part, T* to);
    /// to[j] = from[j mod step · part + j div step], j < n.
    void (*interleave)(const T* from, int64_t step, int64_t n, int64_t part, T* to);
    /// panel[i·width + j] = sample j of the runs, displaced by rows[i]; i < k. At most `width` samples.
    void (*pack_columns)(const T* tile, const int64_t* rows, int64_t k, const Run* runs,
                         int64_t run_count, int width, T* panel);
    /// panel[j·width + i] = the same, i < count <= width; any number of samples.
    void (*pack_rows)(const T* tile, const int64_t* columns, int count, const Run* runs,
                      int64_t run_count, int width, T* panel);
    /// out = *start (or, where there is none, out) + Σ_k weights[k]·sample, one fma chain in ascending k. With a lag,
    /// offsets go on for rows_together − 1 rows of taps.
    void (*correlate)(const PlaneWalk<T>& x, const T* weights, const T* start, T* out,
                      int64_t out_row);
    /// The same for a register's channels, of which the last so many are kept. Without weights: those of the last call.
    void (*correlate_channels)(const ChannelWalk<T>& x, const T* source, const T* weights,
                               const T* bias, T* out, int64_t kept);
    /// out[channel][k] = Σ g·source over `batch` planes of them, each so far from the one before, of at most half as many
    /// columns of outputs as there are canonical lanes; else as correlate_weights and join_lanes.
    void (*correlate_channel_weights)(const ChannelWalk<T>& x, int64_t batch, const T* source,
                                      int64_t next, const T* g, int64_t next_g, T* out,
                                      int64_t kept);
    /// lanes[k][weight_lanes] += Σ g·sample over the plane, in canonical lanes, each down all rows of a column and then of
    /// the next. Of each row of taps those from `begin` to `end`; where there are no rows, of each weight_lanes.
    void (*correlate_weights)(const PlaneWalk<T>& x, const T* g, int64_t g_row, T* lanes,
                              int64_t begin, int64_t end);
    /// out[k] = the canonical tree over lanes[k][weight_lanes].
    void (*join_lanes)(const T* lanes, int64_t taps, T* out);
    /// out = the largest sample, NaN if any is NaN. As largest_named it may overwrite what it reads.
    void (*largest)(const PlaneWalk<T>& x, T* out, int64_t out_row);
    /// tops, to = the largest sample (the first of equals, the first NaN) and its name, at the place of the first tap. May
    /// overwrite what it reads where no tap lies before another.
    void (*largest_named)(const PlaneWalk<T>& x, const NameOf<T>* names, T* tops, NameOf<T>* to,
                          int64_t out_row);
    /// largest of as many planes one after the other as a register has lanes, of which the last so many are kept; or where
    /// from the first one's beginning on it stands, for each window by lanes: room.names.
    void (*largest_channels)(const ConvolutionAxis* axis, const T* x, const WindowRoom<T>& room,
                             int64_t kept, T* out);
    void (*largest_named_channels)(const ConvolutionAxis* axis, const T* x,
                                   const WindowRoom<T>& room, int64_t kept, T* out);
    /// Windows of `rows` × 2, side by side: dx = g[c] where the largest of window c stands, else 0. Rows are `row` apart.
    void (*pair_gradient)(int64_t columns, int64_t rows, const T* x, int64_t row, const T* g,
                          T* dx);
};

}  // namespace mercer::cpu
