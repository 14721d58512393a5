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
        throw ShapeError(operation, std::to_string(queries) + " queries and " +
                                        std::to_string(keys) +
                                        " keys: say the offset of the first query, keys − queries "
                                        "where keys begin with memory, 0 where both begin at the "
                                        "same place");
    return {queries, keys, offset.value_or(0)};
}

PairLengths pair_lengths(const char* operation, const Var& q, const Var& k, PositionOffset offset) {
    if (q.rank() < 2 || k.rank() < 2 || q.shape().back() != k.shape().back())
        throw ShapeError(operation, "queries " + to_string(q.shape()) + " and keys " +
                                        to_string(k.shape()) +
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
    throw ShapeError(
        operation,
        std::string(what) + " " + (parameter.defined() ? to_string(parameter.shape()) : "absent") +
            " for queries " + to_string(q.shape()) + ": it needs " + std::to_string(rank) +
            " axes, or a leading one more for the heads, the queries' third last" +
            (width < 0 ? std::string() : ", and width " + std::to_string(width)));
}

Var hide_future(const Var& term, const PairLengths& t) {
    const Tensor future = over_distances(t, [](int64_t s) { return int64_t(s < 0); });
    return masked_fill(term, not_equal(future, 0.0), -std::numeric_limits<double>::infinity());
}

Tensor clipped_rows(const PairLengths& t, int64_t c, bool reversed) {
    const int64_t rows = std::max<int64_t>(t.queries + t.keys - 1, 0);
    Tensor out = Tensor::empty({rows}, DType::i64);
    for (int64_t r = 0; r < rows; ++r) {
        const int64_t ahead = r - (t.queries - 1) - t.offset;  // j − i, both in place
        out.mutable_data<int64_t>()[r] = std::clamp(reversed ? -ahead : ahead, -c, c) + c;
    }
    return out;
}

Var Positioned::term() const {
    const int64_t queries = q.size(-2), keys = k.size(-2);
    Var sum;
    const auto add = [&](const Var& x) { sum = sum.defined() ? sum + x : x; };
    if (inner) add(matmul(inner->queries, transpose(inner->keys)));
    if (relative) {
        const auto& [x, rows] = *relative;
        // Distances without a row have 0.
        const auto shifted = [&](const Var& all) {
            const int64_t missing = keys - all.size(-1);
            if (missing <= 0) return relative_shift(all, keys);
            const Dims none = Dims::filled(all.rank(), 0);
            Dims after = none;
            after[all.rank() - 1] = missing;
            return relative_shift(pad(all, std::span(none.begin(), none.end()),
                                      std::span(after.begin(), after.end())),
                                  keys);
        };
        if (x.defined()) {
            add(shifted(matmul(x, transpose(rows))));
        } else {
            Shape shape = rows.shape();
            shape.push_back(shape.back());
            shape[shape.rank() - 2] = queries;
            add(shifted(broadcast_to(unsqueeze(rows, -2), shape)));
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
        throw ShapeError("relative_shift", to_string(x.shape()) +
                                               " needs two axes, and a column "
                                               "or more for each of " +
                                               std::to_string(keys) + " keys");
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
