// A step's length that meets the strong Wolfe conditions. For lbfgs.cpp.
#pragma once

#include <algorithm>
#include <cmath>
#include <functional>
#include <optional>

#include "engine/tensor.h"

namespace mercer {

/// A power of two near x: to divide by it loses no digit, and keeps products in range.
inline double unit_of(double x) { return std::ldexp(1, std::clamp(std::ilogb(x), -1000, 1000)); }

/// φ(a) = f(x + a·d), φ'(a), and what a caller keeps of the point.
struct LinePoint {
    double a = 0, f = 0, slope = 0;
    Tensor gradient;
};

struct Wolfe {
    double armijo, curvature;
    int64_t trials;
};

/// Nocedal and Wright 2006, algorithm 3.5, then 3.6 within the bracket it found. From φ(0) = start,
/// with a negative slope. A value that is not finite counts as too high. After `trials`, the lowest
/// point that meets the first condition; none if there is none.
std::optional<LinePoint> line_search(const std::function<LinePoint(double)>& phi,
                                     const LinePoint& start, double first, const Wolfe& wolfe);

}  // namespace mercer
