// Whole runs, as a user writes them: tape, schedule, clipping, step; the loss ends near its least value.
#include <doctest/doctest.h>

#include "autograd/functions.h"
#include "autograd/optim/clip.h"
#include "autograd/optim/ema.h"
#include "autograd/optim/schedule.h"
#include "autograd/tape.h"
#include "engine/random.h"
#include "tests/autograd/optim/every.h"

using namespace mercer;

namespace {

// Least squares with a known solution, columns scaled from 1 to 1/4.
struct Problem {
    Tensor x = randn(Key{1, 1}, {64, 6}, DType::f64) * Tensor::linspace(0.25, 1, 6, DType::f64),
           w = randn(Key{1, 2}, {6, 1}, DType::f64), y = matmul(x, w);
    Var loss(const Var& v) const { return mean(square(matmul(Var(x), v) - y)); }
};

double run(Optimizer& optimizer, double lr, int64_t steps, Ema* ema = nullptr, double noise = 0) {
    const Problem problem;
    Tensor w = Tensor::zeros({6, 1}, DType::f64);
    const std::vector<Tensor*> parameters{&w};
    const Schedule schedule =
        ema ? constant_lr(lr) : warmed_up(cosine_lr(lr, 0, steps - 50), 50, 0.1);
    Tape tape;
    for (int64_t t = 0; t < steps; ++t) {
        tape.reset();
        const Var v = tape.watch(w);
        std::vector<Tensor> g{tape.gradient(problem.loss(v), {v})[0]};
        if (noise > 0) g[0] = g[0] + randn(Key{2, uint64_t(t)}, {6, 1}, DType::f64) * noise;
        clip_by_norm(g, 1);
        optimizer.set_lr(schedule(t));
        optimizer.step(parameters, g);
        if (ema) ema->update(parameters);
    }
    return problem.loss(Var(w)).value().item<double>();
}

}  // namespace

TEST_CASE("every optimiser solves least squares") {
    const double start = mean(square(Problem().y)).item<double>();
    const auto solves = [&](Optimizer&& optimizer, double lr, double share) {
        const double loss = run(optimizer, lr, 1500);
        CHECK_MESSAGE(loss < share * start, loss, " of ", start);
    };
    solves(Sgd(), 0.3, 1e-8);
    solves(Sgd({.momentum = 0.9}), 0.1, 1e-12);
    solves(Sgd({.momentum = 0.9, .nesterov = true}), 0.1, 1e-12);
    solves(Adam(), 0.05, 1e-12);
    solves(AdamW({.weight_decay = 0}), 0.05, 1e-12);
    solves(RAdam(), 0.05, 1e-12);
    solves(Adagrad(), 0.5, 1e-8);
    solves(RmsProp(), 0.05, 1e-8);
    solves(RmsProp({.momentum = 0.5, .centered = true}), 0.01, 1e-8);
}

TEST_CASE("an average of noisy parameters is better than the last of them") {
    const Problem problem;
    Ema ema({.decay = 0.99, .bias_correction = true});
    Sgd sgd;
    const double last = run(sgd, 0.2, 2000, &ema, 0.5);
    const double average = problem.loss(Var(ema.values()[0])).value().item<double>();
    CHECK_MESSAGE(average < 0.2 * last, average, " and ", last);
}
