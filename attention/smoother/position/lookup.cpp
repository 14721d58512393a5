#include "attention/smoother/position/lookup.h"

#include <algorithm>
#include <cmath>

#include "attention/smoother/position/relative.h"
#include "autograd/functions.h"
#include "engine/error.h"

namespace mercer {
namespace {

// The row of a table of 2c + 1 for every pair: [1…, Tq, Tk], of `rank` axes.
Tensor clipped_rows(const char* operation, const Var& table, const PairLengths& t, bool reversed,
                    int rank) {
    const int64_t rows = table.size(-2), c = rows / 2;
    if (rows % 2 == 0)
        throw ShapeError(operation, "table " + to_string(table.shape()) +
                                        " needs an odd number 2c + 1 of rows, for −c to c");
    const Tensor index =
        over_distances(t, [&](int64_t s) { return std::clamp(reversed ? s : -s, -c, c) + c; });
    Shape shape = Dims::filled(rank, 1);
    shape[rank - 2] = t.queries;
    shape[rank - 1] = t.keys;
    return reshape(index, shape);
}

Var scale(const Var& term, const Var& q, bool scaled) {
    return scaled ? term * (1 / std::sqrt(double(q.size(-1)))) : term;
}

}  // namespace

Positioned place(const Lookup& scheme, const Var& q, const Var& k) {
    const PairLengths t = pair_lengths("lookup", q, k, scheme.offset);
    require_parameter("lookup", "table", scheme.table, 2, q, q.size(-1));
    const Tensor index = clipped_rows("lookup", scheme.table, t, scheme.reversed, q.rank());
    return {q, k, scale(gather(matmul(q, transpose(scheme.table)), index, -1), q, scheme.scaled)};
}

Var relative_values(const Lookup& scheme, const Var& weights) {
    constexpr const char* name = "relative_values";
    if (weights.rank() < 2)
        throw ShapeError(name, "weights " + to_string(weights.shape()) + " need two axes or more");
    const PairLengths t = pair_lengths(name, weights.size(-2), weights.size(-1), scheme.offset);
    require_parameter(name, "table of values", scheme.values, 2, weights, -1);
    const Tensor index = clipped_rows(name, scheme.values, t, scheme.reversed, weights.rank());
    return matmul(scatter_add(weights, index, -1, scheme.values.size(-2)), scheme.values);
}

Positioned place(const Skew& scheme, const Var& q, const Var& k) {
    const PairLengths t = pair_lengths("skew", q, k, scheme.offset);
    require_parameter("skew", "table", scheme.table, 2, q, q.size(-1));
    const int64_t rows = scheme.table.size(-2);
    if (t.offset != t.keys - t.queries || t.offset < 0)
        throw ShapeError("skew", "offset " + std::to_string(t.offset) + " for queries " +
                                     to_string(q.shape()) + " and keys " + to_string(k.shape()) +
                                     ": the last query must stand with the last key; lookup takes "
                                     "any offset");
    if (rows < t.keys)
        throw ShapeError("skew", "table " + to_string(scheme.table.shape()) +
                                     " has fewer rows than " + std::to_string(t.keys) +
                                     " keys; make it longer, or use lookup, which clips");
    const Var near = slice(scheme.table, -2, rows - t.keys, rows);
    const Var term = relative_shift(matmul(q, transpose(near)), t.keys);
    return {q, k, hide_future(scale(term, q, scheme.scaled), t)};
}

}  // namespace mercer
