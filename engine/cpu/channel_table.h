// Kernels of normalisation by channel on one instruction set. x is cut into lines of n contiguous
// elements. Either every line belongs to one channel, line l to (first + l) mod channels, or n is
// the number of channels, and a line has one element of each. [whole lines][f32, f64]
#pragma once

#include <cstdint>

namespace mercer::cpu {

struct ChannelArgs {
    const void *x, *g;
    const void *mean, *scale;  // by channel, as are the next two
    const void *slope, *shift;
    void* out;
    void *sum_g, *sum_gx;
    int64_t lines, n, first, channels;
    bool stream;
};

struct ChannelTable {
    /// out = (x − mean)·slope + shift, with g also + g·scale
    void (*affine[2][2])(const ChannelArgs&);
    /// Σ g and Σ g·(x − mean): of each line; or, by channel, over the lines in ascending order.
    /// With `out`: out = g·scale.
    void (*sums[2][2])(const ChannelArgs&);
};

}  // namespace mercer::cpu
