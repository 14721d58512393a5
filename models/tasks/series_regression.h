// Filling the gaps of a series: the regression setting of Song et al. (2021, Implicit Kernel
// Attention), with the epoch chosen by a validation part instead of the test part.
//
// All n points form one sequence. A point's input is its time (standardised) and its phase in the
// year; the model gives a value for every point, and only those of the training part enter the
// loss: the model sees the times of the others, never their values. It is trained full-batch, the
// epoch with the least validation RMSE is kept, and the test part is looked at once, at the end.
//
//   x [n, 3] → Linear(64) → post-LN encoder layer (keys 64, feed-forward 64 → 64 → 64) → Linear(1)
#pragma once

#include "models/data/series.h"
#include "models/layers/encoder.h"
#include "models/training/fit.h"

namespace mercer {

class MERCER_API SeriesTransformer {
public:
    SeriesTransformer(int64_t heads, SmootherOptions smoother, Key key);
    SeriesTransformer(const SeriesTransformer&) = delete;  // Parameters point into it
    SeriesTransformer& operator=(const SeriesTransformer&) = delete;

    /// [n, 3] to [n].
    Var forward(const Binding& at, const Var& x) const;
    /// The attention weights of a trained model, of each `every`-th point: [heads, ⌈n/every⌉, n].
    Tensor weights(const Tensor& x, int64_t every = 1) const;
    Parameters parameters();

private:
    Linear embed_;
    EncoderLayer encoder_;
    Linear read_;
};

/// t standardised, sin 2πt, cos 2πt: [n, 3].
MERCER_API Tensor series_inputs(const std::vector<double>& time);

/// √ mean over `indices` of (value − prediction)².
MERCER_API double rmse(const std::vector<double>& value, const std::vector<double>& prediction,
                       const std::vector<int64_t>& indices);

struct SeriesFit {
    FitResult curves;  // mean squares of the training and the validation part, standardised
    std::vector<double> prediction;  // for every point, in the series' unit
    Tensor weights;                  // [heads, ⌈n/every⌉, n]
    int64_t parameters = 0;
};

/// Trains one model. Values of the test part are not read at all.
MERCER_API SeriesFit fit_series(const MonthlySeries& series, const Split& split, int64_t heads,
                                const SmootherOptions& smoother, Key key, const FitOptions& options,
                                const Progress& progress = {}, int64_t every = 1);

}  // namespace mercer
