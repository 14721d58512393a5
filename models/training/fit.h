// The training loop. It knows parameters and a function that judges them, and nothing of the task.
#pragma once

#include <functional>
#include <vector>

#include "models/layers/parameters.h"

namespace mercer {

/// What one pass over the data says of the parameters as they are.
struct Evaluation {
    Var loss;               // to be lowered; one element, on the Binding's tape
    double validation = 0;  // to choose by: lower is better
};

struct FitOptions {
    int epochs = 1000;
    double lr = 0.01;
};

/// Called once an epoch with its number, from 0, the loss and the validation score.
using Progress = std::function<void(int epoch, double loss, double validation)>;

struct FitResult {
    std::vector<double> loss, validation;  // for each epoch
    int best_epoch = 0;  // the one whose parameters were kept: the least validation score
};

/// Full-batch Adam; afterwards the parameters are those of the best epoch. NumericalError, with the
/// epoch, when the loss is not finite.
MERCER_API FitResult fit(const Parameters& parameters,
                         const std::function<Evaluation(const Binding&)>& evaluate,
                         const FitOptions& options, const Progress& progress = {});

}  // namespace mercer
