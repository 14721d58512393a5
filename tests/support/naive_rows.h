// Row by row along one axis, for oracles.
#pragma once

#include <algorithm>
#include <cmath>

#include "tests/support/naive.h"

namespace oracle {

using Row = std::vector<Real>;

/// Every row of x along `axis` replaced by f(row), of equal length.
inline Naive by_rows(const Naive& x, int axis, const std::function<Row(const Row&)>& f) {
    Naive y = x;
    const int64_t n = x.shape[axis];
    each(x.shape, [&](const Shape& i, size_t) {
        if (i[axis] != 0) return;
        Row row;
        Shape j = i;
        for (j[axis] = 0; j[axis] < n; ++j[axis]) row.push_back(x.at[place(x.shape, j)]);
        const Row out = f(row);
        for (j[axis] = 0; j[axis] < n; ++j[axis]) y.at[place(x.shape, j)] = out[size_t(j[axis])];
    });
    return y;
}

/// One number of every row along the last axis, which goes.
inline Naive row_values(const Naive& x, const std::function<Real(const Row&, size_t row)>& f) {
    Naive y{x.shape, {}};
    y.shape.erase(x.shape.rank() - 1);
    const size_t n = size_t(x.shape.back());
    for (size_t r = 0; r < size_t(total(y.shape)); ++r)
        y.at.push_back(f(Row(x.at.begin() + long(r * n), x.at.begin() + long((r + 1) * n)), r));
    return y;
}

inline Real sum(const Row& x) {
    Real total = 0;
    for (Real v : x) total += v;
    return total;
}
inline Real log_sum_exp(const Row& x) {
    Real top = x[0], total = 0;
    for (Real v : x) top = std::max(top, v);
    for (Real v : x) total += std::exp(v - top);
    return top + std::log(total);
}

}  // namespace oracle
