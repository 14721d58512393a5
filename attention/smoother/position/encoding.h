// Sinusoidal position encodings PE(t) (Vaswani et al. 2017, section 3.5): for each pair p of D/2,
//
//   sin(t/base^(2p/D)),  cos(t/base^(2p/D))
//
// Moving t turns each pair by a fixed angle: PE(t + s) = rotate_pairs(PE(t), −s) (rotary.h).
// Learned encodings are rows of a table: embedding(table, positions).
#pragma once

#include "attention/smoother/position/pairs.h"

namespace mercer {

enum class EncodingLayout : uint8_t {
    /// sin, cos, sin, cos, …: the paper's.
    interleaved,
    /// All sines, then all cosines: Transformer-XL (Dai et al. 2019).
    halves,
    /// As halves, but with exponents p/(D/2 − 1), of position t + padding_index + 1: fairseq (Ott et
    /// al. 2019). t = −1 stands for padding, whose row is zero.
    fairseq,
};

struct EncodingOptions {
    EncodingLayout layout = EncodingLayout::interleaved;
    double base = 10000;
    int64_t padding_index = 1;  // of fairseq
};

/// PE at `positions`, integers or real numbers of any shape: positions.shape() + [width]. Computed in
/// f64. Real positions may stand on a tape. ShapeError for an odd width (fairseq: and below 4),
/// ValueError unless base > 0, DTypeError unless dtype is f32 or f64.
MERCER_API Var sinusoidal_encoding(const Var& positions, int64_t width, DType dtype = DType::f32,
                                   const EncodingOptions& options = {});

/// Positions of tokens among those that are visible (bool, [..., T]): 0, 1, …; −1 for the others,
/// which are padding. i64, [..., T].
MERCER_API Tensor token_positions(const Tensor& visible);

}  // namespace mercer
