// Compares derivatives with differences of values.
#pragma once

#include <string>

#include "autograd/derivatives.h"
#include "engine/random.h"

namespace mercer {

struct GradcheckOptions {
    double tolerance = 1e-6;  // first order, relative to the largest entry of an input's gradient
    double second_tolerance = 1e-7;  // second order, likewise
    double step = 1e-3;              // of the stencil, times max(1, |x|)
    bool second_order = true;
    Key key{2026, 0};  // of the random cotangents
};

struct GradcheckReport {
    bool ok = true;
    double first_error = 0, second_error = 0;  // the largest seen
    std::string failure;                       // the first entry out of tolerance, with both values
};

/// Checks f at `inputs` (all f64, else DTypeError), as the function that Vars compute. With u, w
/// random:
///   first order:   d⟨u, f⟩/dx against the 4-point stencil of ⟨u, f⟩,
///   recorded:      the same gradient by create_graph against that by values,
///   second order:  d⟨w, ∇⟨u, f⟩⟩/d(x, u), recorded by create_graph, against the same stencil over
///   the analytic gradient.
/// Stencil: f' ≈ (f(x−2h) − 8f(x−h) + 8f(x+h) − f(x+2h)) / 12h, error h⁴f⁗'/30. Keep kinks further
/// than 2h away. Cost: 8 evaluations and gradients for each input element; meant for small inputs.
MERCER_API GradcheckReport gradcheck(VarFunction f, std::span<const Tensor> inputs,
                                     const GradcheckOptions& options = {});

}  // namespace mercer
