// Normalisation of rows: layer norm and its root-mean-square form; and by channel, of x [batch, channels, …].
#pragma once

#include "engine/ops/op.h"

namespace mercer {

/// Inputs: x, gain, bias (each may be undefined; of the shape of x's last axes). Results: y; mean and
/// scale = 1/√(var + ε) of each row. Of groups, x is (batch, groups, channels of a group, elements of a channel), normalised
/// over the last two; gain and bias are (groups, channels of a group, 1).
template <bool centred>
struct MERCER_API RowNorm
    : Reads<input_bit(0) | input_bit(1) | output_bit_of(1) | output_bit_of(2)> {
    struct Attrs {
        int axes;  // the last ones, over which x is normalised
        double epsilon;
        bool groups = false;
    };
    /// As many axes as gain or bias has, else one.
    template <class X>
    static Attrs attrs(const X& gain, const X& bias, double epsilon) {
        return {gain.defined() ? gain.rank() : bias.defined() ? bias.rank() : 1, epsilon};
    }
    MERCER_OPERATION_MEMBERS(centred ? "layer_norm" : "rms_norm", Tensors<3>)
    /// dx, dgain, dbias in one pass over x and g: first order only, tested against the text of vjp.
    /// The last two stay undefined unless `parameters`.
    static std::array<Tensor, 3> backward(const Tensor& x, const Tensor& gain, const Tensor& mean,
                                          const Tensor& scale, const Tensor& g, bool parameters,
                                          const Attrs& attrs);
};
extern template struct RowNorm<true>;
extern template struct RowNorm<false>;

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
