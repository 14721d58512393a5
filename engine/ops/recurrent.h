// LSTM and GRU over whole sequences. Saved is `memory`, the gates of every step (and c, or the GRU's U h + c of n): a
// result of the operation, so that second derivatives read it as they read any other value.
#pragma once

#include "engine/ops/op.h"

namespace mercer {

struct RecurrentAttrs {
    bool reverse;
};

/// x (T, B, I), w_ih (4H, I), w_hh (4H, H), bias (4H), h0 (B, H), c0 (B, H), lengths (B) or undefined;
/// y, h_T, c_T, memory (T, B, 5H): i, f, g, o, c.
struct MERCER_API Lstm : Reads<0b1110111u | output_bit_of(0) | output_bit_of(3)> {
    using Attrs = RecurrentAttrs;
    MERCER_OPERATION_MEMBERS("lstm", Tensors<4>)
    /// {dz (T, B, 4H), dh0, dc0} from the cotangents of the results (which may be undefined), in one
    /// pass: first order only, tested against the text of vjp.
    template <class X>
    struct Back {
        X dz, dh, dc;
    };
    static Back<Tensor> backward(const Attrs&, std::span<const Tensor> saved,
                                 std::span<const Tensor> cotangents);
};

/// x (T, B, I), w_ih (3H, I), w_hh (3H, H), b_ih (3H), b_hh (3H), h0 (B, H), lengths (B) or undefined;
/// y, h_T, memory (T, B, 4H): r, z, n, U h + c.
struct MERCER_API Gru : Reads<0b1100111u | output_bit_of(0) | output_bit_of(2)> {
    using Attrs = RecurrentAttrs;
    MERCER_OPERATION_MEMBERS("gru", Tensors<3>)
    /// {dx, dh (T, B, 3H): of the gates' parts from x and from h; dh0}
    template <class X>
    struct Back {
        X dx, dh_gates, dh;
    };
    static Back<Tensor> backward(const Attrs&, std::span<const Tensor> saved,
                                 std::span<const Tensor> cotangents);
};

/// What lstm and gru check before anything is computed; returns H.
MERCER_API int64_t check_recurrent(const char* operation, int gates, const Tensor& x,
                                   const Tensor& w_ih, const Tensor& w_hh,
                                   std::span<const Tensor> biases, std::span<const Tensor> states,
                                   const Tensor& lengths);

/// Biases and initial states, zeros where absent.
template <class X>
struct RecurrentInputs {
    std::array<X, 2> biases, states;
};
template <class X>
RecurrentInputs<X> recurrent_inputs(const char* operation, int gates, const X& x, const X& w_ih,
                                    const X& w_hh, std::array<X, 2> biases, std::array<X, 2> states,
                                    const Tensor& lengths) {
    const Tensor bias_values[] = {value_of(biases[0]), value_of(biases[1])},
                 state_values[] = {value_of(states[0]), value_of(states[1])};
    const int64_t h = check_recurrent(operation, gates, value_of(x), value_of(w_ih), value_of(w_hh),
                                      bias_values, state_values, lengths);
    for (X& b : biases)
        if (!b.defined()) b = X(Tensor::zeros({gates * h}, x.dtype()));
    for (X& s : states)
        if (!s.defined()) s = X(Tensor::zeros({x.size(1), h}, x.dtype()));
    return {std::move(biases), std::move(states)};
}

}  // namespace mercer
