// A plain reduction over a set of axes, for oracles.
#pragma once

#include "tests/support/naive.h"

namespace oracle {

/// join folded over the axes whose bits are set, from `start`; with `keep` they stay as size 1.
inline Naive reduced(const Naive& x, unsigned axes, bool keep, Real start,
                     const std::function<Real(Real, Real)>& join) {
    Shape kept = x.shape, shape = x.shape;
    for (int a = x.shape.rank() - 1; a >= 0; --a)
        if (axes & (1u << a)) {
            kept[a] = 1;
            if (keep)
                shape[a] = 1;
            else
                shape.erase(a);
        }
    Naive y{shape, std::vector<Real>(size_t(total(kept)), start)};
    each(x.shape, [&](const Shape& i, size_t p) {
        Shape j = i;
        for (int a = 0; a < j.rank(); ++a)
            if (axes & (1u << a)) j[a] = 0;
        Real& to = y.at[place(kept, j)];
        to = join(to, x.at[p]);
    });
    return y;
}

}  // namespace oracle
