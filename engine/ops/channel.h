// Normalisation by channel: x [batch, channels, …].
#pragma once

#include "engine/ops/op.h"

namespace mercer {

/// (x − mean)·scale + shift with a number for each channel; an undefined mean or shift is 0, an
/// undefined scale 1. Inputs: x, mean, scale, shift.
MERCER_OPERATION(ChannelAffine, "channel_affine", Tensor,
                 input_bit(0) | input_bit(1) | input_bit(2))

/// Inputs: x, gain, bias (each may be undefined). Results: y; mean and (biased) variance of each
/// channel.
MERCER_OPERATION(BatchNorm, "batch_norm", Tensors<3>,
                 input_bit(0) | input_bit(1) | output_bit_of(1) | output_bit_of(2), double epsilon;)

/// [1, channels, 1, …]. ShapeError unless x is [batch, channels, …] and not empty.
MERCER_API Shape channel_shape(const char* name, const Shape& x);
/// ShapeError unless t, if defined, has a number for each channel of x.
MERCER_API void require_channels(const char* name, const Tensor& t, const Tensor& x);

/// Of first derivatives: Σ g and Σ g·(x − mean) by channel, and, if `scale` is defined, g·scale.
MERCER_API std::array<Tensor, 3> channel_sums(const Tensor& x, const Tensor& mean, const Tensor& g,
                                              const Tensor& scale);
/// (x − mean)·slope + shift, with g also + g·scale
MERCER_API Tensor channel_affine(const Tensor& x, const Tensor& mean, const Tensor& slope,
                                 const Tensor& shift, const Tensor& g = {},
                                 const Tensor& scale = {});

}  // namespace mercer
