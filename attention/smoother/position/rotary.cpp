#include "attention/smoother/position/rotary.h"

#include <algorithm>

#include "attention/smoother/position/relative.h"
#include "autograd/custom.h"
#include "autograd/functions.h"
#include "engine/error.h"
#include "engine/ops/require.h"

namespace mercer {

namespace {

constexpr const char* name = "rotate_pairs";

// Row by row the definition.
Var turned(const Var& x, const Var& positions, PairLayout layout, double base, int64_t width) {
    const int64_t whole = x.size(-1);
    const auto [a, b] = split_pairs(name, width == whole ? x : slice(x, -1, 0, width), layout);
    const Var angles = pair_angles(name, positions, width / 2, double(width) / 2, base);
    const Var c = cast(cos(angles), x.dtype()), s = cast(sin(angles), x.dtype());
    const Var pairs = join_pairs(a * c - b * s, a * s + b * c, layout);
    return width == whole ? pairs : concat({pairs, slice(x, -1, width, whole)}, -1);
}

}  // namespace

Var rotate_pairs(const Var& x, const Var& positions, PairLayout layout, double base,
                 int64_t width) {
    const CalledAs called(name);
    require_floating(name, x.value());
    const int64_t whole = x.rank() < 2 ? 0 : x.shape().back();
    if (width == 0) width = whole;
    if (x.rank() < 2 || width < 2 || width > whole)
        throw ShapeError(name, "rows of ", x.shape(), " do not have ", width,
                         " elements to turn; they need 2 or more");
    if (positions.rank() < 1 || positions.rank() >= x.rank() || positions.size(-1) != x.size(-2))
        throw ShapeError(name, "positions ", positions.shape(), " do not fit ", x.shape(),
                         "; they need one for each row");
    if (!positions.is_constant()) return turned(x, positions, layout, base, width);
    // Some rows at a time, and a tape keeps only the positions: the derivative is turned back by them.
    const auto rotate = custom(
        name,
        [=](const Tensor& from) {
            constexpr int64_t rows = 1024;
            const int64_t length = from.size(-2);
            if (length <= rows) return turned(from, positions, layout, base, width).value();
            Tensor out = Tensor::empty(from.shape(), from.dtype());
            for (int64_t first = 0; first < length; first += rows) {
                const int64_t end = std::min(first + rows, length);
                Tensor part = slice(out, -2, first, end);
                turned(slice(from, -2, first, end), slice(positions, -1, first, end), layout, base,
                       width)
                    .value()
                    .copy_to(part);
            }
            return out;
        },
        [=](auto& c) {
            const Var back = -cast(positions, DType::f64);
            using X = std::remove_cvref_t<decltype(c.g())>;
            const Var x = rotate_pairs(c.g(), back, layout, base, width);
            if constexpr (std::is_same_v<X, Tensor>)
                c.give(0, x.value());
            else
                c.give(0, x);
        },
        0);
    return rotate(x);
}

Positioned place(const Rotary& scheme, const Var& q, const Var& k) {
    const PairLengths t = pair_lengths("rotary", q, k, scheme.offset);
    const auto turn = [&](const Var& x, int64_t length, int64_t first) {
        return rotate_pairs(x, Tensor::arange(length, DType::f64, double(first)), scheme.layout,
                            scheme.base, scheme.width);
    };
    return {turn(q, t.queries, t.offset), turn(k, t.keys, 0)};
}

}  // namespace mercer
