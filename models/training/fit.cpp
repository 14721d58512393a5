#include "models/training/fit.h"

#include <cmath>

#include "autograd/optim/adam.h"
#include "engine/error.h"
#include "engine/trace.h"

namespace mercer {
FitResult fit(const Parameters& parameters,
              const std::function<Evaluation(const Binding&)>& evaluate, const FitOptions& options,
              const Progress& progress) {
    if (options.epochs < 1) throw ValueError("fit", options.epochs, " epochs; give 1 or more");
    FitResult result;
    std::vector<Tensor> best;
    Adam adam({.lr = options.lr});
    Tape tape;
    for (int epoch = 0; epoch < options.epochs; ++epoch) {
        const TraceScope scope("epoch");
        tape.reset();
        const Binding at(tape, parameters);
        const Evaluation now = evaluate(at);
        const double loss = now.loss.item<double>();
        if (!std::isfinite(loss) || std::isnan(now.validation))
            throw NumericalError("fit", "the loss of epoch ", epoch,
                                 " is not finite; lower the learning rate");
        result.loss.push_back(loss);
        result.validation.push_back(now.validation);
        if (epoch == 0 || now.validation < result.validation[size_t(result.best_epoch)]) {
            result.best_epoch = epoch;
            best = parameters.snapshot();
        }
        if (progress) progress(epoch, loss, now.validation);

        const std::vector<Tensor> gradients = tape.gradient(now.loss, at.vars());
        adam.step(parameters.tensors(), gradients);
    }
    parameters.restore(best);
    return result;
}

}  // namespace mercer
