// The α-entmax by bisection, in long double.
#pragma once

#include "tests/support/naive_rows.h"

namespace oracle {

/// p_i = [1 + (α − 1)(x_i − max x − s)]₊^{1/(α − 1)}, Σ p = 1; exp(x_i − max x − s) for α = 1.
inline Row entmax(const Row& x, Real alpha) {
    Real top = x[0];
    for (Real v : x) top = std::max(top, v);
    const auto at = [&](Real s) {
        Row p;
        for (Real v : x) {
            const Real u = v - top - s, a = 1 + (alpha - 1) * u;
            p.push_back(alpha == 1 ? std::exp(u) : a > 0 ? std::pow(a, 1 / (alpha - 1)) : 0);
        }
        return p;
    };
    Real low = 0, high = std::log(Real(x.size())) + 1;
    for (int k = 0; k < 200; ++k) {
        const Real s = (low + high) / 2;
        (sum(at(s)) > 1 ? low : high) = s;
    }
    return at(low);
}

/// Ω(p) = (Σ p^α − 1)/(α(α − 1)), or Σ p log p for α = 1, of a distribution.
inline Real negentropy(const Row& p, Real alpha) {
    Real total = 0;
    for (Real v : p)
        if (v > 0)
            total +=
                alpha == 1 ? v * std::log(v) : (std::pow(v, alpha) - v) / (alpha * (alpha - 1));
    return total;
}

}  // namespace oracle
