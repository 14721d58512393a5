// Normalisation of rows: layer norm and its root-mean-square form.
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

}  // namespace mercer
