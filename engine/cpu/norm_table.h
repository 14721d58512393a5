// Kernels of layer, group and root-mean-square normalisation on one instruction set.
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

}  // namespace mercer::cpu
