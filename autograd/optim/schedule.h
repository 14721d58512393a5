// Learning rates by the number of the step. A schedule is a value without memory: a run that
// resumes at a step asks for that step.
//
//   const Schedule lr = warmed_up(cosine_lr(1e-3, 0, 9000), 1000);
//   for (int64_t step = 0; …; ++step) { optimizer.set_lr(lr(step)); … }
//
// Steps count from 0. Each function throws ValueError naming the argument that is out of range.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "engine/export.h"

namespace mercer {

using Schedule = std::function<double(int64_t step)>;

MERCER_API Schedule constant_lr(double lr);

/// lr · factor^⌊t/every⌋.
MERCER_API Schedule step_lr(double lr, int64_t every, double factor = 0.1);
/// lr · factor^(milestones ≤ t); the milestones ascend.
MERCER_API Schedule step_lr(double lr, std::vector<int64_t> milestones, double factor = 0.1);

/// least + ½(lr − least)(1 + cos(π·min(t, period)/period)). Loshchilov and Hutter 2017 (SGDR), eq.
/// 5, one period; after it, least. PyTorch's turns up again.
MERCER_API Schedule cosine_lr(double lr, double least, int64_t period);
/// The same with warm restarts: after each period from lr again, over a period that is `growth`
/// (T_mult) times as long.
MERCER_API Schedule cosine_restarts_lr(double lr, double least, int64_t period, int64_t growth = 1);

/// factor · width^−½ · min(s^−½, s·warm_up^−3/2), s = t + 1. Vaswani et al. 2017, section 5.3, eq.
/// 3, where factor = 1 and width is d_model.
MERCER_API Schedule transformer_lr(int64_t width, int64_t warm_up, double factor = 1);
/// Linear from `start` to peak over `warm_up` steps, then peak·√(warm_up/t): t < warm_up: start +
/// (peak − start)·t/warm_up. fairseq's inverse_sqrt, where start is 0 unless there is no warm-up;
/// then start is peak, and the decay counts from step 1.
MERCER_API Schedule inverse_sqrt_lr(double peak, int64_t warm_up, double start = 0);

/// Any schedule after a linear warm-up: t < steps: after(0)·(start + (1 − start)·t/steps), then
/// after(t − steps); start in [0, 1]. Goyal et al. 2017, section 2.2, gradual warm-up.
MERCER_API Schedule warmed_up(Schedule after, int64_t steps, double start = 0);

struct OneCycleOptions {
    double rising = 0.3;         // share of the steps that rise
    double start_divisor = 25;   // begins at lr/start_divisor
    double final_divisor = 1e4;  // ends at lr/(start_divisor·final_divisor)
    bool linear = false;         // else by half cosines
    bool three_phases = false;   // falls as it rose, to the start, then to the end
};
/// Up to lr, and down to far below the start. Smith and Topin 2019 (super-convergence), section 3:
/// linear, in three phases. The default, two phases of half cosines, is fast.ai's and PyTorch's,
/// whose places of the turns are taken: phase k ends at share·total − 1. After `total` steps it
/// stays.
MERCER_API Schedule one_cycle_lr(double lr, int64_t total, const OneCycleOptions& options = {});

}  // namespace mercer
