// Convolutions over two spatial axes as matrix products: patches of the source are packed into the panels that the
// kernels of gemm read, so no matrix of patches exists in memory. One plane to one plane (depthwise) goes without a
// product, unless many outputs of a gradient read alike. Each output is one fma chain (see the functions), whatever the tiles, instruction set and threads; where the
// kernel has one tap, stride 1 and no padding, it is gemm.h's sum.
#pragma once

#include <cstdint>

namespace mercer::cpu {

/// One spatial axis: out[i] reads in[i·stride + k·dilation − before] for k < kernel, zeros outside.
struct ConvolutionAxis {
    int64_t in, out, kernel, stride, dilation, before;
};
/// x (batch, groups·from, in…), w (groups·to, from, kernel…), y (batch, groups·to, out…); row-major.
struct ConvolutionSizes {
    int64_t batch, groups, from, to;
    ConvolutionAxis axis[2];
    int64_t in() const { return axis[0].in * axis[1].in; }
    int64_t out() const { return axis[0].out * axis[1].out; }
    int64_t taps() const { return axis[0].kernel * axis[1].kernel; }
    /// Whether y is x times a matrix, pixel by pixel.
    bool is_product() const {
        for (const ConvolutionAxis& a : axis)
            if (a.kernel != 1 || a.stride != 1 || a.before != 0 || a.in != a.out) return false;
        return groups == 1 && from > 1 && to > 1;
    }
};

/// y = bias + Σ w·x: from the bias (or 0) on, over (from, kernel…) in ascending order.
template <class T>
void convolve(const ConvolutionSizes& s, const T* x, const T* w, const T* bias, T* y);

/// x = bias + Σ w·y over what convolve reads from it: over (to, kernel…) in ascending order.
template <class T>
void convolve_transpose(const ConvolutionSizes& s, const T* y, const T* w, const T* bias, T* x);

/// w = Σ y·x over (batch, out…) in ascending order; depthwise in canonical lanes along the last axis, each down all rows.
template <class T>
void convolve_weights(const ConvolutionSizes& s, const T* x, const T* y, T* w);

}  // namespace mercer::cpu
