// Updates of parameters in place, element by element, on one instruction set. [f32, f64]
#pragma once

#include <cstdint>

#include "engine/export.h"

namespace mercer::cpu {

/// The formulas of kernels/optim_kernels.cpp. The last three make p from g alone or blend the two:
/// for averages, sums and clipping.
enum class UpdateRule : uint8_t {
    sgd,
    momentum,
    nesterov,
    adam,
    adam_unscaled,
    adagrad,
    rmsprop,
    rmsprop_momentum,
    rmsprop_centered,
    rmsprop_centered_momentum,
    blend,
    scale,
    clamp,
    count
};

/// What the formulas are made of; each says which it reads.
struct UpdateConstants {
    double rate = 0;              // the step's length
    double beta1 = 0, beta2 = 0;  // decay rates of what is remembered
    double gain = 1;              // how much of g a velocity takes in
    double correction = 1;        // of a start at zero
    double epsilon = 0;
    double l2 = 0;      // g ← g + l2·p before the formula
    double shrink = 1;  // p ← shrink·p before the step
};

/// A tensor of a step: n contiguous elements of p, g and what the rule remembers.
struct UpdateItem {
    void* p = nullptr;
    const void* g = nullptr;
    void* state[3] = {};
    int64_t n = 0;
    UpdateRule rule = UpdateRule::sgd;
    bool wide = false;  // f64
    UpdateConstants constants;
    int64_t first = 0;  // set by the driver
};

/// Two runs of n contiguous elements, to be multiplied.
struct DotItem {
    const void *a, *b;
    int64_t n;
    bool wide;
    int64_t first = 0;  // set by the driver
};

struct OptimTable {
    /// Elements [begin, begin + n) of u.
    void (*update[int(UpdateRule::count)][2])(const UpdateItem& u, int64_t begin, int64_t n);
    /// Σ (scale·aᵢ)(scale·bᵢ) in double, in canonical order.
    double (*dot[2])(const void* a, const void* b, int64_t n, double scale);
};

}  // namespace mercer::cpu
