#include "attention/smoother/position/encoding.h"

#include <algorithm>

#include "autograd/functions.h"
#include "engine/error.h"
#include "engine/operation.h"

namespace mercer {

namespace {

// Row by row the definition.
Var encoded(const char* name, const Var& positions, int64_t width, DType dtype,
            const EncodingOptions& options) {
    const bool fairseq = options.layout == EncodingLayout::fairseq;
    const int64_t pairs = width / 2;
    const Var t = cast(positions, DType::f64);
    const Var angles = pair_angles(name, fairseq ? t + (double(options.padding_index) + 1) : t,
                                   pairs, double(fairseq ? pairs - 1 : pairs), options.base);
    const Var s = cast(sin(angles), dtype), c = cast(cos(angles), dtype);
    const Var table =
        join_pairs(s, c,
                   options.layout == EncodingLayout::interleaved ? PairLayout::interleaved
                                                                 : PairLayout::halves);
    return fairseq ? masked_fill(table, equal(unsqueeze(t, -1), -1.0), 0) : table;
}

}  // namespace

Var sinusoidal_encoding(const Var& positions, int64_t width, DType dtype,
                        const EncodingOptions& options) {
    constexpr const char* name = "sinusoidal_encoding";
    const CalledAs called(name);
    const bool fairseq = options.layout == EncodingLayout::fairseq;
    if (width % 2 || width < (fairseq ? 4 : 2))
        throw ShapeError(name, "width ", width, " must be even, ",
                         (fairseq ? "4 or more for this layout" : "2 or more"));
    if (!is_floating(dtype)) throw DTypeError(name, "sines are f32 or f64, not ", name_of(dtype));
    constexpr int64_t rows = 1024;  // at a time, where no tape keeps their angles
    const int64_t length = positions.rank() == 1 ? positions.count() : 0;
    if (length <= rows || !positions.is_constant())
        return encoded(name, positions, width, dtype, options);
    Tensor out = Tensor::empty({length, width}, dtype);
    for (int64_t first = 0; first < length; first += rows) {
        const int64_t end = std::min(first + rows, length);
        Tensor part = slice(out, 0, first, end);
        encoded(name, slice(positions, 0, first, end), width, dtype, options).value().copy_to(part);
    }
    return out;
}

Tensor token_positions(const Tensor& visible) {
    if (visible.rank() < 1 || visible.dtype() != DType::boolean)
        throw DTypeError("token_positions", "needs a bool mask [..., T], got ", visible);
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
