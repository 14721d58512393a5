// Kernels of normalisation, by row (layer, group, root mean square) and by channel, on one instruction set.
#pragma once

#include <cstdint>

namespace mercer::cpu {

/// `rows` rows of n contiguous elements. An element of gain and bias for each of a row; or, of groups of channels, one for
/// each channel: a row, `first` the first one, has n / inner of the `channels`, each `inner` elements.
struct NormArgs {
    const void *x, *g, *gain, *bias;
    void *mean, *scale;  // by row: results of forward, read by backward
    void *out, *dgain, *dbias;
    int64_t rows, n, first, inner, channels;
    double epsilon;
    bool stream;
};

enum class NormKind { root_mean_square, layer, group };

/// [NormKind][f32, f64]
struct NormTable {
    /// out = (x − mean)·scale·gain + bias, scale = 1/√(mean (x − mean)² + ε)
    void (*forward[3][2])(const NormArgs&);
    /// out = dx, and the sums of these rows for gain and bias (null: not wanted, both or none)
    void (*backward[3][2])(const NormArgs&);
};

/// Normalisation by channel. x is cut into lines of n contiguous elements. Either every line belongs to one channel, line l to
/// (first + l) mod channels, or n is the number of channels, and a line has one element of each.
struct ChannelArgs {
    const void *x, *g;
    const void *mean, *scale;  // by channel, as are the next two
    const void *slope, *shift;
    void* out;
    void *sum_g, *sum_gx;
    int64_t lines, n, first, channels;
    bool stream;
};

/// [whole lines][f32, f64]
struct ChannelTable {
    /// out = (x − mean)·slope + shift, with g also + g·scale
    void (*affine[2][2])(const ChannelArgs&);
    /// Σ g and Σ g·(x − mean): of each line; or, by channel, over the lines in ascending order.
    /// With `out`: out = g·scale.
    void (*sums[2][2])(const ChannelArgs&);
};

}  // namespace mercer::cpu
