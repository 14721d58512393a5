// A moving average of parameters, which often generalises better than the last of them.
#pragma once

#include <span>
#include <vector>

#include "autograd/optim/state.h"

namespace mercer {

struct EmaOptions {
    double decay = 0.999;
    /// false: the average starts as the parameters of the first update. true: it starts at 0 and is
    /// divided by 1 − dᵗ, so that every update counts for what it is, as in Adam (Kingma and Ba
    /// 2015, section 3).
    bool bias_correction = false;
};

/// e ← d·e + (1 − d)·p, in one fused pass. Polyak and Juditsky 1992 average with equal weights;
/// with decaying ones Tarvainen and Valpola 2017, section 2.
class MERCER_API Ema {
public:
    /// ValueError unless decay is in [0, 1).
    explicit Ema(const EmaOptions& options = {});
    Ema(const Ema&) = delete;  // both would write the averages in place: state() copies
    Ema& operator=(const Ema&) = delete;

    /// After each step. Parameters keep order, shapes and dtypes: ShapeError; DTypeError for others
    /// than f32 and f64, ValueError for one that is undefined. InPlaceError while they are swapped.
    void update(std::span<Tensor* const> parameters);
    /// The averages, bias corrected if so asked: copies. ValueError before the first update.
    std::vector<Tensor> values() const;

    /// Writes the averages into the parameters, in place, and keeps what they were; swap_out writes
    /// that back, bit for bit. ShapeError; ValueError when swapped already, or not swapped.
    void swap_in(std::span<Tensor* const> parameters);
    void swap_out(std::span<Tensor* const> parameters);

    /// "step" (i64) and "average.i", uncorrected; copies. Not whether they are swapped. restore()
    /// throws as Optimizer::restore does, and InPlaceError while they are swapped.
    NamedTensors state() const;
    void restore(const NamedTensors& state);

private:
    void check(std::span<Tensor* const> parameters) const;
    EmaOptions options_;
    int64_t step_ = 0;
    std::vector<Tensor> averages_, kept_;
};

}  // namespace mercer
