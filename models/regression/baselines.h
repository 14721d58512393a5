// Least squares on a few functions of time, in float64: what attention must beat.
//
//   linear trend         1, t
//   harmonic regression  1, t, t², sin 2πt, cos 2πt      (t in years: one wave a year)
#pragma once

#include <vector>

#include "engine/export.h"

namespace mercer {

/// Fitted to (time, value), evaluated at `queries`. NumericalError when the times do not determine
/// the coefficients.
MERCER_API std::vector<double> linear_trend(const std::vector<double>& time,
                                            const std::vector<double>& value,
                                            const std::vector<double>& queries);
MERCER_API std::vector<double> harmonic_regression(const std::vector<double>& time,
                                                   const std::vector<double>& value,
                                                   const std::vector<double>& queries);

}  // namespace mercer
