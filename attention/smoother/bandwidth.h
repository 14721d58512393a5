// The bandwidth of Nadaraya–Watson regression (spec D.1), chosen by what each point says of itself
// when it is left out:
//
//   ŷ_{−i}(x_i) = Σ_{j ≠ i} K(‖x_i − x_j‖/h) y_j / Σ_{j ≠ i} K(‖x_i − x_j‖/h)
//   error(h)    = mean_i ‖y_i − ŷ_{−i}(x_i)‖²
//
// which is the smoother over its own keys with a filter that hides the diagonal. A point without
// neighbours within a compact K takes the nearest one; the report counts how many did.
// x: [n, d], y: [n, D]; computed in f64.
#pragma once

#include <vector>

#include "attention/smoother/reference.h"

namespace mercer {

/// j ≠ i + offset.
MERCER_API Filter others(int64_t offset = 0);

struct LeaveOneOut {
    double error = 0;  // mean_i ‖y_i − ŷ_{−i}(x_i)‖²
    double slope = 0;  // d error/d log h, where asked for
    int64_t fallbacks = 0;
};
/// O(n²·d) time, by blocks of rows: memory O(128·n·d). ShapeError; ValueError for fewer than two
/// points, h ≤ 0, and h that the kernel refuses (nadaraya_watson()).
MERCER_API LeaveOneOut leave_one_out(const Tensor& x, const Tensor& y, double h,
                                     Profile profile = Profile::gaussian);
/// With the slope, by the smoother's gradient. Where fallbacks are, they do not feel h. ValueError
/// also for a profile whose weights do not move with h: boxcar and constant.
MERCER_API LeaveOneOut leave_one_out_slope(const Tensor& x, const Tensor& y, double h,
                                           Profile profile = Profile::gaussian);

struct BandwidthOptions {
    Profile profile = Profile::gaussian;
    int points = 60;           // of the grid
    double low = 0, high = 0;  // its ends; 0: a quarter of the least distance > 0, the largest
    int refinements = 24;  // golden sections between the grid's neighbours: φ⁻²⁴ < 1e-5 of a step
};
struct BandwidthChoice {
    double bandwidth = 0, rmse = 0;
    int64_t fallbacks = 0;
    std::vector<double> tried, tried_rmse;  // the grid, ascending: the curve the choice was made on
};
/// The least error over a logarithmic grid, refined by golden section (Kiefer 1953) between the
/// neighbours of its best point, which stands where the section finds nothing lower.
/// points + refinements + 3 evaluations. ValueError as above, and where all points are one.
MERCER_API BandwidthChoice choose_bandwidth(const Tensor& x, const Tensor& y,
                                            const BandwidthOptions& options = {});

struct LearnedBandwidth {
    double bandwidth, rmse;
    int64_t fallbacks;
    int64_t evaluations;
    bool converged;  // the slope is nothing, or the error changes no more; else iterations ran out
};
/// The bandwidth as a learned parameter: descends the error in log h by L-BFGS from `start`. Finds a
/// minimum near the start, where the grid finds the least. ValueError as leave_one_out_slope().
MERCER_API LearnedBandwidth learn_bandwidth(const Tensor& x, const Tensor& y, double start,
                                            Profile profile = Profile::gaussian,
                                            int64_t iterations = 50);

}  // namespace mercer
