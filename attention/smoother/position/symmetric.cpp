#include "attention/smoother/position/symmetric.h"

#include <algorithm>
#include <cmath>

#include "attention/smoother/position/relative.h"
#include "autograd/functions.h"
#include "engine/error.h"

namespace mercer {
namespace {

// The rows of t·W_T that belong to the queries, and to the keys.
std::pair<Var, Var> rows_of(const Symmetric& scheme, const Var& q, const Var& k) {
    const PairLengths t = pair_lengths("symmetric", q, k, scheme.offset);
    require_parameter("symmetric", "t·W_T", scheme.projected, 2, q, -1);
    const int64_t rows = scheme.projected.size(-2), last = t.offset + t.queries;
    if (t.offset < 0 || std::max(last, t.keys) > rows)
        throw ShapeError("symmetric", "t·W_T ", scheme.projected.shape(),
                         " has no rows for queries at ", t.offset, " to ", last - 1, " and ",
                         t.keys, " keys; encode more positions");
    return {slice(scheme.projected, -2, t.offset, last), slice(scheme.projected, -2, 0, t.keys)};
}

// [x; t], t repeated along the leading axes of x.
Var beside(const Var& x, const Var& t) {
    Shape shape = x.shape();
    shape[x.rank() - 1] = t.size(-1);
    return concat({x, broadcast_to(t, shape)}, -1);
}

}  // namespace

Symmetric symmetric(const Var& t, const Var& weight, PositionOffset offset) {
    return {matmul(t, weight), offset};
}

Positioned place(const Symmetric& scheme, const Var& q, const Var& k) {
    const auto [tq, tk] = rows_of(scheme, q, k);
    return {q, k, InnerTerm{tq * (1 / std::sqrt(double(q.size(-1)))), tk}};
}

Positioned joined(const Symmetric& scheme, const Var& q, const Var& k) {
    const auto [tq, tk] = rows_of(scheme, q, k);
    const double d = double(q.size(-1)), both = d + double(tq.size(-1));
    return {beside(q, tq) * std::sqrt(both / d), beside(k, tk)};
}

}  // namespace mercer
