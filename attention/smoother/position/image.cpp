#include "attention/smoother/position/image.h"

#include <cmath>

#include "attention/smoother/position/relative.h"
#include "autograd/functions.h"
#include "engine/error.h"

namespace mercer {

Var grid_encoding(const Var& rows, const Var& columns) {
    if (rows.rank() < 2 || columns.rank() != rows.rank() || rows.size(-1) != columns.size(-1))
        throw ShapeError("grid_encoding", "rows " + to_string(rows.shape()) + " and columns " +
                                              to_string(columns.shape()) +
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
        throw ShapeError("grid", "rows " + to_string(scheme.rows.shape()) + " and columns " +
                                     to_string(scheme.columns.shape()) + " do not make up keys " +
                                     to_string(k.shape()) + "; the length must be height·width");
    const double root = std::sqrt(double(q.size(-1)));
    const auto gram = [&](const Var& x, int first, int second) {
        return unsqueeze(unsqueeze(matmul(x * (1 / root), transpose(x)), first), second);
    };
    const Var both = gram(scheme.rows, -2, -1) + gram(scheme.columns, -3, -2);
    Shape shape = both.shape();  // [H…, height, width, height, width]
    shape.erase(shape.rank() - 1);
    shape.erase(shape.rank() - 1);
    shape[shape.rank() - 2] = t.keys;
    shape[shape.rank() - 1] = t.keys;
    return {q, k, reshape(both, shape)};
}

}  // namespace mercer
