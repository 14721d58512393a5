#include "attention/smoother/position/rotary.h"

#include "attention/smoother/position/relative.h"
#include "autograd/functions.h"
#include "engine/error.h"

namespace mercer {

Var rotate_pairs(const Var& x, const Var& positions, PairLayout layout, double base,
                 int64_t width) {
    constexpr const char* name = "rotate_pairs";
    const int64_t whole = x.rank() < 2 ? 0 : x.shape().back();
    if (width == 0) width = whole;
    if (x.rank() < 2 || width < 2 || width > whole)
        throw ShapeError(name, "rows of " + to_string(x.shape()) + " do not have " +
                                   std::to_string(width) +
                                   " elements to turn; they need 2 or more");
    if (positions.rank() < 1 || positions.rank() >= x.rank() || positions.size(-1) != x.size(-2))
        throw ShapeError(name, "positions " + to_string(positions.shape()) + " do not fit " +
                                   to_string(x.shape()) + "; they need one for each row");
    const auto [a, b] = split_pairs(name, width == whole ? x : slice(x, -1, 0, width), layout);
    const Var angles = pair_angles(name, positions, width / 2, double(width) / 2, base);
    const Var c = cast(cos(angles), x.dtype()), s = cast(sin(angles), x.dtype());
    const Var turned = join_pairs(a * c - b * s, a * s + b * c, layout);
    return width == whole ? turned : concat({turned, slice(x, -1, width, whole)}, -1);
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
