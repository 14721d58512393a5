#include "attention/smoother/position/lookup.h"

#include <algorithm>
#include <cmath>

#include "attention/smoother/position/relative.h"
#include "autograd/functions.h"
#include "engine/error.h"

namespace mercer {
namespace {

// What the 2c + 1 rows of a table belong to.
Distances distances_of(const char* operation, const Var& table, const PairLengths& t,
                       bool reversed) {
    const int64_t rows = table.size(-2);
    if (rows % 2 == 0)
        throw ShapeError(operation, "table ", table.shape(),
                         " needs an odd number 2c + 1 of rows, for −c to c");
    return {t.offset - rows / 2, true, reversed};
}

double scale(const Var& q, bool scaled) { return scaled ? 1 / std::sqrt(double(q.size(-1))) : 1; }

}  // namespace

Positioned place(const Lookup& scheme, const Var& q, const Var& k) {
    constexpr const char* name = "lookup";
    const PairLengths t = pair_lengths(name, q, k, scheme.offset);
    require_parameter(name, "table", scheme.table, 2, q, q.size(-1));
    Positioned out{q, k};
    out.relative =
        RelativeTerm{q, scheme.table, distances_of(name, scheme.table, t, scheme.reversed),
                     scale(q, scheme.scaled)};
    if (scheme.values.defined()) {
        require_parameter(name, "table of values", scheme.values, 2, q, -1);
        out.value_rows = scheme.values;
        out.value_at = distances_of(name, scheme.values, t, scheme.reversed);
    }
    return out;
}

Var relative_values(const Lookup& scheme, const Var& weights) {
    constexpr const char* name = "relative_values";
    if (weights.rank() < 2)
        throw ShapeError(name, "weights ", weights.shape(), " need two axes or more");
    const PairLengths t = pair_lengths(name, weights.size(-2), weights.size(-1), scheme.offset);
    require_parameter(name, "table of values", scheme.values, 2, weights, -1);
    const Distances at = distances_of(name, scheme.values, t, scheme.reversed);
    return matmul(relative_unshift(weights),
                  rows_of_distances(scheme.values, -2, at, t.queries, t.keys));
}

Positioned place(const Skew& scheme, const Var& q, const Var& k) {
    const PairLengths t = pair_lengths("skew", q, k, scheme.offset);
    require_parameter("skew", "table", scheme.table, 2, q, q.size(-1));
    const int64_t rows = scheme.table.size(-2);
    if (t.offset != t.keys - t.queries || t.offset < 0)
        throw ShapeError("skew", "offset ", t.offset, " for queries ", q.shape(), " and keys ",
                         k.shape(),
                         ": the last query must stand with the last key; lookup takes "
                         "any offset");
    if (rows < t.keys)
        throw ShapeError("skew", "table ", scheme.table.shape(), " has fewer rows than ", t.keys,
                         " keys; make it longer, or use lookup, which clips");
    Positioned out{q, k};
    out.relative = RelativeTerm{q, scheme.table, {t.offset - rows + 1}, scale(q, scheme.scaled)};
    out.horizon = t.offset;
    return out;
}

}  // namespace mercer
