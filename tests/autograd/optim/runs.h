// Runs of an optimiser on a gradient that is made from the parameters as they are, for comparison
// with a trace.
#pragma once

#include <cmath>
#include <vector>

#include "autograd/optim/optimizer.h"

namespace runs {

using namespace mercer;
using Values = std::vector<double>;

inline const Values start{1, -2, 0.5};

/// The gradient of element i at the t-th update, t ≥ 1.
inline double slope(int t, size_t i, double w) { return std::sin(double(t) * (double(i) + 1)) * w; }

/// The parameters after each of `steps` updates, from `start`.
inline std::vector<Values> of(Optimizer& optimizer, int steps) {
    Tensor p = Tensor::from(start);
    std::vector<Values> path;
    for (int t = 1; t <= steps; ++t) {
        Values g = p.to_vector<double>();
        for (size_t i = 0; i < g.size(); ++i) g[i] = slope(t, i, g[i]);
        Tensor* parameters[] = {&p};
        const Tensor gradients[] = {Tensor::from(g)};
        optimizer.step(parameters, gradients);
        path.push_back(p.to_vector<double>());
    }
    return path;
}

}  // namespace runs
