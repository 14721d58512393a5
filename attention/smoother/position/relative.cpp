#include "attention/smoother/position/relative.h"

#include <algorithm>
#include <limits>
#include <string>
#include <vector>

#include "autograd/functions.h"
#include "engine/error.h"

namespace mercer {

PairLengths pair_lengths(const char* operation, int64_t queries, int64_t keys,
                         PositionOffset offset) {
    if (queries != keys && !offset)
        throw ShapeError(operation, queries, " queries and ", keys,
                         " keys: say the offset of the first query, keys − queries "
                         "where keys begin with memory, 0 where both begin at the "
                         "same place");
    constexpr int64_t farthest = int64_t{1} << 53;  // places are exact in f64
    if (offset && (*offset > farthest || *offset < -farthest))
        throw ValueError(operation, "the offset ", *offset, " is beyond 2^53 to either side");
    return {queries, keys, offset.value_or(0)};
}

PairLengths pair_lengths(const char* operation, const Var& q, const Var& k, PositionOffset offset) {
    if (q.rank() < 2 || k.rank() < 2 || q.shape().back() != k.shape().back())
        throw ShapeError(operation, "queries ", q.shape(), " and keys ", k.shape(),
                         " need two axes or more and the same width");
    return pair_lengths(operation, q.size(-2), k.size(-2), offset);
}

void require_parameter(const char* operation, const char* what, const Var& parameter, int rank,
                       const Var& q, int64_t width) {
    const int extra = parameter.defined() ? parameter.rank() - rank : -1;
    const bool heads =
        extra == 1 && (parameter.size(0) == 1 || (q.rank() > 2 && parameter.size(0) == q.size(-3)));
    const bool fits = (extra == 0 || heads) && (width < 0 || parameter.size(-1) == width);
    if (fits) return;
    throw ShapeError(operation, what, " ",
                     (parameter.defined() ? to_string(parameter.shape()) : "absent"),
                     " for queries ", q.shape(), ": it needs ", rank,
                     " axes, or a leading one more for the heads, the queries' third last",
                     (width < 0 ? std::string() : ", and width " + std::to_string(width)));
}

Var hide_future(const Var& term, const PairLengths& t) {
    const Tensor future = over_distances(t, [](int64_t s) { return int64_t(s < 0); });
    return masked_fill(term, not_equal(future, 0.0), -std::numeric_limits<double>::infinity());
}

Var rows_of_distances(const Var& rows, int axis, const Distances& at, int64_t queries,
                      int64_t keys) {
    const int64_t have = rows.size(axis), nearest = std::min<int64_t>(1 - queries, 0);
    Tensor index = Tensor::empty({std::max<int64_t>(keys - nearest, 0)}, DType::i64);
    bool beyond = false;
    for (int64_t n = 0; n < index.count(); ++n) {
        const auto [row, end] = at.met(have, nearest + n, nearest + n + 1);
        beyond = beyond || row == end;
        index.mutable_data<int64_t>()[n] = row == end ? have : at.reversed ? have - end : row;
    }
    if (!beyond) return index_select(rows, index, axis);
    Shape zero = rows.shape();
    zero[rows.rank() + axis] = 1;
    return index_select(concat({rows, Tensor::zeros(zero, rows.dtype())}, axis), index, axis);
}

Var Positioned::term() const {
    const int64_t queries = q.size(-2), keys = k.size(-2);
    Var sum;
    const auto add = [&](const Var& x) { sum = sum.defined() ? sum + x : x; };
    if (inner) add(matmul(inner->queries, transpose(inner->keys)));
    if (relative) {
        const auto& [x, table, at, scale] = *relative;
        const Var rows = rows_of_distances(table, x.defined() ? -2 : -1, at, queries, keys);
        if (x.defined()) {
            const Var products = matmul(x, transpose(rows));
            add(relative_shift(scale == 1 ? products : products * scale, keys));
        } else {
            Shape shape = rows.shape();
            shape.push_back(shape.back());
            shape[shape.rank() - 2] = queries;
            add(relative_shift(broadcast_to(unsqueeze(rows, -2), shape), keys));
        }
    }
    return sum.defined() && horizon ? hide_future(sum, {queries, keys, *horizon}) : sum;
}

Var relative_unshift(const Var& w) {
    const int64_t queries = w.size(-2), keys = w.size(-1), columns = queries + keys - 1;
    if (queries < 2) return w;
    // In rows of R, w_ij is at i·R + j − i + Tq − 1 = i·(R − 1) + j + (Tq − 1): rows of R − 1, moved.
    Dims none = Dims::filled(w.rank(), 0), after = none;
    after[w.rank() - 1] = columns - 1 - keys;
    const auto span = [](const Dims& d) { return std::span(d.begin(), d.end()); };
    Shape flat = w.shape();
    flat.erase(flat.rank() - 1);
    flat[flat.rank() - 1] = queries * (columns - 1);
    const Var row = reshape(pad(w, span(none), span(after)), flat);
    Dims before = Dims::filled(flat.rank(), 0), end = before;
    before[flat.rank() - 1] = queries - 1, end[flat.rank() - 1] = 1;
    Shape out = w.shape();
    out[w.rank() - 1] = columns;
    return reshape(pad(row, span(before), span(end)), out);
}

Var relative_shift(const Var& x, int64_t keys) {
    if (x.rank() < 2 || keys < 0 || x.size(-1) < keys)
        throw ShapeError("relative_shift", x.shape(),
                         " needs two axes, and a column "
                         "or more for each of ",
                         keys, " keys");
    const int64_t rows = x.size(-2), columns = x.size(-1);
    // With a zero before each row, element (i, r) is at i·(R + 1) + r + 1. Rows of R after the first
    // Tq elements have there (i, j) with i·R + j + Tq = i·(R + 1) + r + 1: r = j + Tq − 1 − i.
    const Dims none = Dims::filled(x.rank(), 0);
    Dims before = none;
    before[x.rank() - 1] = 1;
    Shape turned = x.shape();
    turned[x.rank() - 2] = columns + 1;
    turned[x.rank() - 1] = rows;
    const Var padded =
        pad(x, std::span(before.begin(), before.end()), std::span(none.begin(), none.end()));
    const Var shifted = slice(reshape(padded, turned), -2, 1, columns + 1);
    const Var out = slice(reshape(shifted, x.shape()), -1, 0, keys);
    return columns < keys + rows - 1 ? tril(out, columns - rows) : out;
}

}  // namespace mercer
