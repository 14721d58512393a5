#include "models/regression/baselines.h"

#include <cmath>
#include <numbers>

#include "engine/functions.h"
#include "engine/linalg.h"

namespace mercer {
namespace {

// Times are near 2000 and t² would be all but a multiple of t: centre and scale first.
struct Scale {
    double centre, half;
    explicit Scale(const std::vector<double>& time) {
        double low = time.empty() ? 0 : time[0], high = low;
        for (const double t : time) low = std::min(low, t), high = std::max(high, t);
        centre = (low + high) / 2;
        half = high > low ? (high - low) / 2 : 1;
    }
};

Tensor design(const std::vector<double>& time, const Scale& scale, bool harmonic) {
    std::vector<double> rows;
    for (const double t : time) {
        const double s = (t - scale.centre) / scale.half, wave = 2 * std::numbers::pi * t;
        rows.insert(rows.end(), {1, s});
        if (harmonic) rows.insert(rows.end(), {s * s, std::sin(wave), std::cos(wave)});
    }
    return Tensor::from(rows, {int64_t(time.size()), harmonic ? 5 : 2});
}

std::vector<double> fit(const std::vector<double>& time, const std::vector<double>& value,
                        const std::vector<double>& queries, bool harmonic) {
    const Scale scale(time);
    const Tensor coefficients = least_squares(design(time, scale, harmonic), Tensor::from(value));
    return matmul(design(queries, scale, harmonic), coefficients).to_vector<double>();
}

}  // namespace

std::vector<double> linear_trend(const std::vector<double>& time, const std::vector<double>& value,
                                 const std::vector<double>& queries) {
    return fit(time, value, queries, false);
}

std::vector<double> harmonic_regression(const std::vector<double>& time,
                                        const std::vector<double>& value,
                                        const std::vector<double>& queries) {
    return fit(time, value, queries, true);
}

}  // namespace mercer
