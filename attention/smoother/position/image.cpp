#include "attention/smoother/position/image.h"

#include <algorithm>
#include <cmath>

#include "attention/smoother/position/relative.h"
#include "autograd/functions.h"
#include "engine/error.h"
#include "engine/operation.h"

namespace mercer {

Var grid_encoding(const Var& rows, const Var& columns) {
    const CalledAs called("grid_encoding");
    if (rows.rank() < 2 || columns.rank() != rows.rank() || rows.size(-1) != columns.size(-1))
        throw ShapeError("grid_encoding", "rows ", rows.shape(), " and columns ", columns.shape(),
                         " need two axes or more, as many, and one width");
    const Var sum = unsqueeze(rows, -2) + unsqueeze(columns, -3);  // [B…, height, width, D]
    Shape shape = sum.shape();
    shape[shape.rank() - 3] *= columns.size(-2);
    shape.erase(shape.rank() - 2);
    return reshape(sum, shape);
}

Positioned place(const Grid& scheme, const Var& q, const Var& k) {
    const PairLengths t = pair_lengths("grid", q, k, {});
    require_parameter("grid", "rows", scheme.rows, 2, q, -1);
    require_parameter("grid", "columns", scheme.columns, 2, q, -1);
    const int64_t height = scheme.rows.size(-2), width = scheme.columns.size(-2);
    if (height * width != t.keys)
        throw ShapeError("grid", "rows ", scheme.rows.shape(), " and columns ",
                         scheme.columns.shape(), " do not make up keys ", k.shape(),
                         "; the length must be height·width");
    // [h_r, w_c] for every cell: the sum of both inner products is theirs. Both sides bear a half of the
    // 1/√d, so that they are one.
    const double root = std::pow(double(q.size(-1)), -0.25);
    const int64_t heads = std::max(scheme.rows.rank() > 2 ? scheme.rows.size(0) : 1,
                                   scheme.columns.rank() > 2 ? scheme.columns.size(0) : 1);
    const auto spread = [&](const Var& x, int axis) {
        return broadcast_to(unsqueeze(x * root, axis), {heads, height, width, x.size(-1)});
    };
    const Var cells = concat({spread(scheme.rows, -2), spread(scheme.columns, -3)}, -1);
    Shape shape = cells.shape();
    shape.erase(shape.rank() - 2);
    shape[shape.rank() - 2] = t.keys;
    if (q.rank() == 2 && heads == 1) shape.erase(0);
    const Var both = reshape(cells, shape);
    return {q, k, InnerTerm{both, both}};
}

}  // namespace mercer
