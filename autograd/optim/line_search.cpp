#include "autograd/optim/line_search.h"

#include <algorithm>
#include <cmath>

namespace mercer {
namespace {

/// The minimum between p and q of the cubic with their values and slopes (eq. 3.59); the middle,
/// where that is too near an end or not a number.
double between(const LinePoint& p, const LinePoint& q) {
    const double d1 = p.slope + q.slope - 3 * (p.f - q.f) / (p.a - q.a),
                 unit = unit_of(std::max({std::abs(d1), std::abs(p.slope), std::abs(q.slope)})),
                 root = std::sqrt(d1 / unit * (d1 / unit) - p.slope / unit * (q.slope / unit)),
                 d2 = std::copysign(root * unit, q.a - p.a),
                 a = q.a - (q.a - p.a) * (q.slope + d2 - d1) / (q.slope - p.slope + 2 * d2);
    const double low = std::min(p.a, q.a), width = std::abs(p.a - q.a);
    return a > low + 0.1 * width && a < low + 0.9 * width ? a : low + 0.5 * width;
}

}  // namespace

std::optional<LinePoint> line_search(const std::function<LinePoint(double)>& phi,
                                     const LinePoint& start, double first, const Wolfe& wolfe) {
    const auto low_enough = [&](const LinePoint& p) {
        return p.f <= start.f + wolfe.armijo * p.a * start.slope;
    };
    const auto flat_enough = [&](const LinePoint& p) {
        return std::abs(p.slope) <= -wolfe.curvature * start.slope;
    };
    LinePoint low = start, high;
    int64_t trial = 0;
    for (double a = first;; a *= 2) {
        if (trial++ == wolfe.trials) return low.a > 0 ? std::optional(low) : std::nullopt;
        LinePoint now = phi(a);
        if (!low_enough(now) || (low.a > 0 && now.f >= low.f)) {
            high = std::move(now);
            break;
        }
        if (flat_enough(now)) return now;
        std::swap(low, now);
        if (low.slope >= 0) {
            high = std::move(now);
            break;
        }
    }
    // A minimum lies between; low is the lowest so far that is low enough, and its slope leads
    // towards high.
    while (trial++ < wolfe.trials) {
        const double a = between(low, high);
        if (a == low.a || a == high.a) break;
        LinePoint now = phi(a);
        if (!low_enough(now) || now.f >= low.f) {
            high = std::move(now);
            continue;
        }
        if (flat_enough(now)) return now;
        if (now.slope * (high.a - low.a) >= 0) high = low;
        low = std::move(now);
    }
    return low.a > 0 ? std::optional(low) : std::nullopt;
}

}  // namespace mercer
