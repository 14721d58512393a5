#include "attention/smoother/bandwidth.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

#include "autograd/functions.h"
#include "autograd/optim/lbfgs.h"
#include "autograd/tape.h"
#include "engine/error.h"
#include "engine/operation.h"
#include "engine/shown.h"

namespace mercer {
namespace {

constexpr int64_t block = 128;  // rows at a time
constexpr double infinity = std::numeric_limits<double>::infinity();
// Whose squares are normal numbers; the most is far above all distances, which are below 2^402 here.
constexpr double least_bandwidth = 1e-150, most_bandwidth = 1e150;

class Others : public FilterRule {
public:
    explicit Others(int64_t offset) : offset_(offset) {}
    bool sees(const Seat& s) const override { return s.key != s.query + offset_; }
    TileClass classify(const FilterTile& t) const override {
        const int64_t first = std::max(t.query + offset_, t.key),
                      end = std::min(t.query + t.queries + offset_, t.key + t.keys);
        if (first >= end) return TileClass::full;
        return t.queries * t.keys == 1 ? TileClass::empty : TileClass::partial;
    }
    void mark(const FilterTile& t, bool* seen) const override {
        std::fill_n(seen, t.queries * t.keys, true);
        for (int64_t r = 0; r < t.queries; ++r) {
            const int64_t own = t.query + r + offset_ - t.key;
            if (own >= 0 && own < t.keys) seen[r * t.keys + own] = false;
        }
    }

private:
    int64_t offset_;
};

struct Data {
    Tensor x, y;
    // What x and bandwidths are multiples of here: a power of 2 where their squares would leave the range, else 1.
    double unit = 1;

    Data(const Tensor& points, const Tensor& values) {
        if (points.rank() != 2 || values.rank() != 2 || points.size(0) != values.size(0))
            throw ShapeError("leave_one_out", "points ", points.shape(), " and values ",
                             values.shape(), " should be [n, d] and [n, D]");
        if (points.size(0) < 2)
            throw ValueError("leave_one_out", points.size(0), " points; give two or more");
        x = cast(points, DType::f64);
        y = cast(values, DType::f64);
        if (!all(isfinite(x)).item<bool>() || !all(isfinite(y)).item<bool>())
            throw ValueError("leave_one_out", "points and values must be finite");
        const double size = x.count() ? max(abs(x)).item<double>() : 0;
        if (size > 0 && std::abs(std::ilogb(size)) > 400)
            unit = std::exp2(std::min(std::ilogb(size), 1022));
        x = x / unit;
    }

    /// In other units than 1, h is held where its square is a normal number: far below and above all distances.
    double in_units(double h) const {
        return unit == 1 || !(h > 0) ? h : std::clamp(h / unit, least_bandwidth, most_bandwidth);
    }

    // What rows i … of the error add to its mean; h may stand on a tape.
    Var part(int64_t i, const Var& h, Profile profile, SmootherReport& report) const {
        const int64_t end = std::min(i + block, x.size(0));
        const Var out =
            attend(slice(x, 0, i, end), x, y,
                   {.kernel = nadaraya_watson(profile, h), .filter = others(i), .report = &report});
        return sum(square(out - slice(y, 0, i, end))) / double(x.size(0));
    }

    LeaveOneOut operator()(double given, Profile profile, bool slope) const {
        const double h = given < infinity ? std::min(given, most_bandwidth) : given;
        LeaveOneOut out;
        SmootherReport report;
        for (int64_t i = 0; i < x.size(0); i += block) {
            Tape tape;
            const Tensor at = Tensor::scalar(h, DType::f64);
            const Var bandwidth = slope ? tape.watch(at) : Var(at);
            const Var error = part(i, bandwidth, profile, report);
            out.error += error.item<double>();
            if (slope) out.slope += h * tape.gradient(error, {bandwidth})[0].item<double>();
        }
        out.fallbacks = report.fallbacks;
        return out;
    }
};

void require_slope(Profile profile) {
    if (profile == Profile::boxcar || profile == Profile::constant)
        throw ValueError("learn_bandwidth",
                         (profile == Profile::boxcar ? "the boxcar" : "a constant"),
                         " kernel has no slope in its bandwidth; use choose_bandwidth()");
}

// The least of f between a and b, where f falls and then rises.
template <class F>
double golden_section(F f, double a, double b, int steps) {
    constexpr double ratio = 1 / std::numbers::phi;
    double x1 = b - ratio * (b - a), x2 = a + ratio * (b - a);
    double f1 = f(x1), f2 = f(x2);
    for (int i = 0; i < steps && x1 < x2; ++i) {  // to what doubles tell apart
        if (f1 <= f2) {
            b = x2, x2 = x1, f2 = f1;
            f1 = f(x1 = b - ratio * (b - a));
        } else {
            a = x1, x1 = x2, f1 = f2;
            f2 = f(x2 = a + ratio * (b - a));
        }
    }
    return f1 <= f2 ? x1 : x2;
}

// The least distance above 0 and the largest.
std::pair<double, double> distances(const Tensor& x) {
    double least = infinity, most = 0;
    const double* at = x.data<double>();
    const int64_t n = x.size(0), d = x.size(1);
    for (int64_t i = 0; i < n; ++i)
        for (int64_t j = 0; j < i; ++j) {
            double s = 0;
            for (int64_t c = 0; c < d; ++c) {
                const double e = at[i * d + c] - at[j * d + c];
                s += e * e;
            }
            if (s > 0) least = std::min(least, s);
            most = std::max(most, s);
        }
    return {std::sqrt(least), std::sqrt(most)};
}

// Logarithms of bandwidths.
std::vector<double> logarithmic_grid(const Data& data, const BandwidthOptions& o) {
    double low = data.in_units(o.low), high = data.in_units(o.high);
    if (!(low > 0) || !(high > 0)) {
        const auto [least, most] = distances(data.x.contiguous());
        if (!std::isfinite(least))
            throw ValueError("choose_bandwidth",
                             "all points are equal; give two or more different ones");
        if (!(low > 0)) low = std::max(least / 4, least_bandwidth);
        if (!(high > 0)) high = std::max(most, low);
    }
    if (o.points < 1 || o.refinements < 0 || low > high)
        throw ValueError("choose_bandwidth", "the grid needs a point or more and low <= high, got ",
                         o.points, " points from ", shown(low * data.unit), " to ",
                         shown(high * data.unit));
    const double first = std::log(low), ratio = high / low,
                 step = ratio < infinity ? std::log(ratio) : std::log(high) - first;
    std::vector<double> grid;
    grid.reserve(size_t(o.points));
    for (int i = 0; i < o.points; ++i)
        grid.push_back(first + (o.points > 1 ? step * i / (o.points - 1) : 0));
    return grid;
}

}  // namespace

Filter others(int64_t offset) { return Filter(std::make_shared<Others>(offset)); }

LeaveOneOut leave_one_out(const Tensor& x, const Tensor& y, double h, Profile profile) {
    const CalledAs called("leave_one_out");
    const Data data(x, y);
    return data(data.in_units(h), profile, false);
}

LeaveOneOut leave_one_out_slope(const Tensor& x, const Tensor& y, double h, Profile profile) {
    const CalledAs called("leave_one_out_slope");
    require_slope(profile);
    const Data data(x, y);
    return data(data.in_units(h), profile, true);
}

BandwidthChoice choose_bandwidth(const Tensor& x, const Tensor& y,
                                 const BandwidthOptions& options) {
    const CalledAs called("choose_bandwidth");
    const Data data(x, y);
    const auto rmse = [&](double log_h) {
        return std::sqrt(data(std::exp(log_h), options.profile, false).error);
    };
    const std::vector<double> grid = logarithmic_grid(data, options);
    BandwidthChoice choice;
    for (const double log_h : grid) {
        choice.tried.push_back(std::exp(log_h) * data.unit);
        choice.tried_rmse.push_back(rmse(log_h));
    }
    const size_t best =
        size_t(std::ranges::min_element(choice.tried_rmse) - choice.tried_rmse.begin());
    const double left = grid[best > 0 ? best - 1 : 0],
                 right = grid[std::min(best + 1, grid.size() - 1)];
    double log_h = golden_section(rmse, left, right, options.refinements);
    if (rmse(log_h) > choice.tried_rmse[best]) log_h = grid[best];  // not unimodal there
    const LeaveOneOut chosen = data(std::exp(log_h), options.profile, false);
    choice.bandwidth = std::exp(log_h) * data.unit;
    choice.rmse = std::sqrt(chosen.error);
    choice.fallbacks = chosen.fallbacks;
    return choice;
}

LearnedBandwidth learn_bandwidth(const Tensor& x, const Tensor& y, double start, Profile profile,
                                 int64_t iterations) {
    const CalledAs called("learn_bandwidth");
    require_slope(profile);
    if (!(start > 0))
        throw ValueError("learn_bandwidth", "the start is ", shown(start),
                         "; give a positive bandwidth");
    const Data data(x, y);
    Tensor log_h = Tensor::scalar(std::log(data.in_units(start)), DType::f64);
    Tensor* const parameters[] = {&log_h};
    double unit = 0;  // the error at the start: the search knows no units
    const auto evaluate = [&]() -> LossAndGradients {
        const double h = std::exp(log_h.item<double>());
        if (unit > 0 && !(h >= least_bandwidth && h < infinity))  // a step too far, after the start
            return {infinity, {Tensor::scalar(0, DType::f64)}};
        const LeaveOneOut at = data(h, profile, true);
        if (unit == 0) unit = at.error > 0 ? at.error : 1;
        return {at.error / unit, {Tensor::scalar(at.slope / unit, DType::f64)}};
    };
    Lbfgs optimizer({.iterations = iterations, .gradient_tolerance = 1e-9});
    const Lbfgs::Result result = optimizer.step(parameters, evaluate);
    const double h = std::exp(log_h.item<double>());
    const LeaveOneOut at = data(h, profile, false);
    return {h * data.unit, std::sqrt(at.error), at.fallbacks, result.evaluations,
            result.outcome != Lbfgs::Outcome::iterations};
}

}  // namespace mercer
