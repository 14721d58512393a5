// The Gaussian Nadaraya–Watson smoother with its bandwidth chosen by leave-one-out:
//
//   ŷ(t) = Σ_i k((t − t_i)/h) y_i / Σ_i k((t − t_i)/h),   h* = argmin_h mean_j (y_j − ŷ_{−j}(t_j))²
//
// It is attention with times as queries and keys; leaving j out is a mask on the diagonal. In
// float64. Where every weight underflows the softmax still finds the nearest neighbour, so no
// neighbourhood is empty.
#pragma once

#include <vector>

#include "engine/export.h"

namespace mercer {

struct BandwidthChoice {
    double bandwidth = 0, rmse = 0;
    std::vector<double> tried,
        tried_rmse;  // the grid, ascending: the curve that the choice was made on
};

/// Leave-one-out RMSE at bandwidth h, over all points. ValueError for fewer than two points or h ≤
/// 0.
MERCER_API double leave_one_out_rmse(const std::vector<double>& time,
                                     const std::vector<double>& value, double h);

/// The least over a logarithmic grid from a quarter of the smallest gap to the whole span, refined
/// by golden section between the grid's neighbours. Cost: 90 times that of one leave-one-out, O(n²)
/// each.
MERCER_API BandwidthChoice choose_bandwidth(const std::vector<double>& time,
                                            const std::vector<double>& value);

/// The smoother over (time, value) at each of `queries`.
MERCER_API std::vector<double> smooth(const std::vector<double>& time,
                                      const std::vector<double>& value, double h,
                                      const std::vector<double>& queries);

}  // namespace mercer
