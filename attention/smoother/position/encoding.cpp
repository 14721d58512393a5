#include "attention/smoother/position/encoding.h"

#include "autograd/functions.h"
#include "engine/error.h"

namespace mercer {

Var sinusoidal_encoding(const Var& positions, int64_t width, DType dtype,
                        const EncodingOptions& options) {
    constexpr const char* name = "sinusoidal_encoding";
    const bool fairseq = options.layout == EncodingLayout::fairseq;
    if (width % 2 || width < (fairseq ? 4 : 2))
        throw ShapeError(name, "width " + std::to_string(width) + " must be even, " +
                                   (fairseq ? "4 or more for this layout" : "2 or more"));
    if (!is_floating(dtype))
        throw DTypeError(name, "sines are f32 or f64, not " + std::string(name_of(dtype)));
    const int64_t pairs = width / 2;
    const Var t = cast(positions, DType::f64);
    const Var angles = pair_angles(name, fairseq ? t + double(options.padding_index + 1) : t, pairs,
                                   double(fairseq ? pairs - 1 : pairs), options.base);
    const Var table =
        join_pairs(sin(angles), cos(angles),
                   options.layout == EncodingLayout::interleaved ? PairLayout::interleaved
                                                                 : PairLayout::halves);
    return cast(fairseq ? masked_fill(table, equal(unsqueeze(t, -1), -1.0), 0) : table, dtype);
}

Tensor token_positions(const Tensor& visible) {
    if (visible.rank() < 1 || visible.dtype() != DType::boolean)
        throw DTypeError("token_positions", "needs a bool mask [..., T], got " +
                                                std::string(name_of(visible.dtype())) +
                                                to_string(visible.shape()));
    const Tensor rows = visible.contiguous();
    const bool* seen = rows.data<bool>();
    Tensor out = Tensor::empty(visible.shape(), DType::i64);
    int64_t* position = out.mutable_data<int64_t>();
    const int64_t length = visible.shape().back();
    for (int64_t n = 0, next = 0; n < out.count(); ++n) {
        if (n % length == 0) next = 0;
        position[n] = seen[n] ? next++ : -1;
    }
    return out;
}

}  // namespace mercer
