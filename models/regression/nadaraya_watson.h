// The Gaussian Nadaraya–Watson smoother of a series, ŷ(t) = Σ_i k((t − t_i)/h) y_i / Σ_i k((t − t_i)/h):
// attention with times as queries and keys (attention/smoother/bandwidth.h). In float64. Where every
// weight underflows the softmax still finds the nearest neighbour, so no neighbourhood is empty.
#pragma once

#include "attention/smoother/bandwidth.h"

namespace mercer {

/// h by leave-one-out, over the default grid. ValueError for fewer than two points, or times all
/// equal.
MERCER_API BandwidthChoice choose_bandwidth(const std::vector<double>& time,
                                            const std::vector<double>& value);

/// The smoother over (time, value) at each of `queries`.
MERCER_API std::vector<double> smooth(const std::vector<double>& time,
                                      const std::vector<double>& value, double h,
                                      const std::vector<double>& queries);

}  // namespace mercer
