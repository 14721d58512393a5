// Each optimiser against its paper, by hand: one element after the other in plain doubles; and
// against PyTorch.
#include <doctest/doctest.h>

#include "autograd/optim/adagrad.h"
#include "autograd/optim/adam.h"
#include "autograd/optim/rmsprop.h"
#include "autograd/optim/sgd.h"
#include "engine/functions.h"
#include "tests/autograd/optim/runs.h"

using namespace mercer;
using runs::Values;

namespace {

constexpr int steps = 8;

// What update(t, w, g) makes of each element; it keeps its memory in `memory`, four numbers that
// start at 0.
template <class Update>
void check(Optimizer&& optimizer, Update update) {
    const std::vector<Values> path = runs::of(optimizer, steps);
    for (size_t i = 0; i < runs::start.size(); ++i) {
        double w = runs::start[i], memory[4] = {};
        for (int t = 1; t <= steps; ++t) {
            w = update(t, w, runs::slope(t, i, w), memory);
            CHECK_MESSAGE(std::abs(path[size_t(t - 1)][i] - w) <= 1e-13 * std::abs(w), "update ", t,
                          " of element ", i, ": ", path[size_t(t - 1)][i], " and ", w);
        }
    }
}

void check_last(Optimizer&& optimizer, const Values& expected) {
    const Values last = runs::of(optimizer, steps).back();
    for (size_t i = 0; i < expected.size(); ++i)
        CHECK(std::abs(last[i] - expected[i]) <= 1e-13 * std::abs(expected[i]));
}

}  // namespace

TEST_CASE("gradient descent, Polyak's momentum and Nesterov's") {
    check(Sgd({.lr = 0.1, .weight_decay = 0.3}),
          [](int, double w, double g, double*) { return w - 0.1 * (g + 0.3 * w); });
    // Sutskever et al. 2013, eq. 1–2: v ← μv − εg, θ ← θ + v.
    check(Sgd({.lr = 0.1, .momentum = 0.8}), [](int, double w, double g, double* v) {
        v[0] = 0.8 * v[0] - 0.1 * g;
        return w + v[0];
    });
    // Eq. 3–4: v ← μv − ε∇f(θ + μv), θ ← θ + v, told at the point looked ahead to, w = θ + μv.
    check(Sgd({.lr = 0.1, .momentum = 0.8, .nesterov = true}),
          [](int, double w, double g, double* v) {
              const double theta = w - 0.8 * v[0];
              v[0] = 0.8 * v[0] - 0.1 * g;
              return theta + v[0] + 0.8 * v[0];
          });
    check(Sgd({.lr = 0.1, .momentum = 0.8, .dampening = 0.25}),
          [](int t, double w, double g, double* v) {
              v[0] = t == 1 ? g : 0.8 * v[0] + 0.75 * g;
              return w - 0.1 * v[0];
          });
}

TEST_CASE("Adam, algorithm 1, and AdamW, algorithm 2 with lr in the decay") {
    const auto adam = [](double l2, double decoupled) {
        return [=](int t, double w, double g, double* s) {
            g += l2 * w;
            s[0] = 0.8 * s[0] + (1 - 0.8) * g;
            s[1] = 0.95 * s[1] + (1 - 0.95) * g * g;
            const double m = s[0] / (1 - std::pow(0.8, t)), v = s[1] / (1 - std::pow(0.95, t));
            return w - 0.1 * (m / (std::sqrt(v) + 1e-6) + decoupled * w);
        };
    };
    check(Adam({.lr = 0.1, .beta1 = 0.8, .beta2 = 0.95, .epsilon = 1e-6}), adam(0, 0));
    check(Adam({.lr = 0.1, .beta1 = 0.8, .beta2 = 0.95, .epsilon = 1e-6, .weight_decay = 0.2}),
          adam(0.2, 0));
    check(AdamW({.lr = 0.1, .beta1 = 0.8, .beta2 = 0.95, .epsilon = 1e-6, .weight_decay = 0.2}),
          adam(0, 0.2));
}

TEST_CASE("RAdam, algorithm 2, with either threshold") {
    for (const double threshold : {4.0, 5.0})
        for (const double beta2 : {0.8, 0.95}) {  // ρ∞ = 9 and 39
            int adaptive = 0;
            check(RAdam({.lr = 0.1,
                         .beta1 = 0.8,
                         .beta2 = beta2,
                         .epsilon = 1e-12,
                         .threshold = threshold}),
                  [&](int t, double w, double g, double* s) {
                      const double rho = 2 / (1 - beta2) - 1;
                      s[0] = 0.8 * s[0] + (1 - 0.8) * g;
                      s[1] = beta2 * s[1] + (1 - beta2) * g * g;
                      const double b = std::pow(beta2, t), m = s[0] / (1 - std::pow(0.8, t)),
                                   rho_t = rho - 2 * t * b / (1 - b);
                      if (!(rho_t > threshold)) return w - 0.1 * m;
                      ++adaptive;
                      const double l = std::sqrt(1 - b) / (std::sqrt(s[1]) + 1e-12),
                                   r = std::sqrt((rho_t - 4) * (rho_t - 2) * rho /
                                                 ((rho - 4) * (rho - 2) * rho_t));
                      return w - 0.1 * r * m * l;
                  });
            CHECK(adaptive > 0);
            CHECK(adaptive < 3 * steps);
        }
}

TEST_CASE("Adagrad, figure 1") {
    check(Adagrad({.lr = 0.1, .epsilon = 1e-6}), [](int, double w, double g, double* s) {
        s[0] += g * g;
        return w - 0.1 * g / (1e-6 + std::sqrt(s[0]));
    });
}

TEST_CASE("RMSprop: Hinton's, Graves's centred, both with momentum") {
    for (const bool centered : {false, true})
        for (const double momentum : {0.0, 0.6})
            check(RmsProp({.lr = 0.01,
                           .alpha = 0.9,
                           .epsilon = 1e-3,
                           .momentum = momentum,
                           .centered = centered}),
                  [=](int, double w, double g, double* s) {
                      s[0] = 0.9 * s[0] + (1 - 0.9) * g * g;
                      s[1] = 0.9 * s[1] + (1 - 0.9) * g;
                      const double n = centered ? s[0] - s[1] * s[1] : s[0];
                      s[2] = momentum * s[2] - 0.01 * g / (std::sqrt(n) + 1e-3);
                      return w + s[2];
                  });
}

// A gradient that stays the same: v − a² → 0, where rounding may take it below.
TEST_CASE("centred RMSprop stays finite where the variance vanishes") {
    for (const double alpha : {0.5, 0.9, 0.99}) {
        Tensor p = Tensor::ones({64});
        const Tensor g = Tensor::linspace(0.1, 1, 64, DType::f64);
        const Tensor narrow = cast(g, DType::f32);
        RmsProp rmsprop({.alpha = alpha, .centered = true});
        Tensor* parameters[] = {&p};
        for (int t = 0; t < 3000; ++t) rmsprop.step(parameters, std::span(&narrow, 1));
        for (const float x : p.to_vector<float>()) CHECK(std::isfinite(x));
    }
}

// torch 2.15.0, float64: p = (1, −2, ½), eight steps with p.grad = sin(t·(1, 2, 3))·p for t = 1 …
// 8.
TEST_CASE("PyTorch's numbers") {
    // SGD(lr=.1, weight_decay=.01)
    check_last(Sgd({.lr = 0.1, .weight_decay = 0.01}),
               {0.83051862710953817, -1.8503199533793326, 0.51011350550497891});
    // SGD(lr=.1, momentum=.9, dampening=.3)
    check_last(Sgd({.lr = 0.1, .momentum = 0.9, .dampening = 0.3}),
               {0.40472770322091428, -1.3287451636397558, 0.48392379458975116});
    // SGD(lr=.1, momentum=.9, nesterov=True, weight_decay=.01)
    check_last(Sgd({.lr = 0.1, .momentum = 0.9, .nesterov = true, .weight_decay = 0.01}),
               {0.22686149044702603, -1.2116112446422715, 0.4700920887530084});
    // Adam(lr=.1, betas=(.8, .95), eps=1e-6, weight_decay=.02)
    check_last(
        Adam({.lr = 0.1, .beta1 = 0.8, .beta2 = 0.95, .epsilon = 1e-6, .weight_decay = 0.02}),
        {0.67234241801727923, -1.8506572735805302, 0.35705904882007067});
    // AdamW(lr=.1, betas=(.8, .95), eps=1e-6, weight_decay=.2)
    check_last(
        AdamW({.lr = 0.1, .beta1 = 0.8, .beta2 = 0.95, .epsilon = 1e-6, .weight_decay = 0.2}),
        {0.56195063226951047, -1.5820609645535446, 0.32733083279251735});
    // RAdam(lr=.1, betas=(.8, .95), eps=1e-6, weight_decay=.02)
    RAdamOptions radam{
        .lr = 0.1, .beta1 = 0.8, .beta2 = 0.95, .epsilon = 1e-6, .weight_decay = 0.02};
    check_last(RAdam(radam), {0.75553442828134609, -1.752140526150882, 0.48765904736239746});
    radam.decoupled = true;  // decoupled_weight_decay=True
    check_last(RAdam(radam), {0.75325560935882818, -1.7438833224742032, 0.48706041213544626});
    // Adagrad(lr=.1, lr_decay=.1, initial_accumulator_value=.3, eps=1e-6, weight_decay=.02)
    check_last(
        Adagrad(
            {.lr = 0.1, .epsilon = 1e-6, .initial = 0.3, .lr_decay = 0.1, .weight_decay = 0.02}),
        {0.87772682956300585, -1.943693919767582, 0.49518108275878941});
    // RMSprop(lr=.1, alpha=.9, eps=1e-6, weight_decay=.02)
    check_last(RmsProp({.lr = 0.1, .alpha = 0.9, .epsilon = 1e-6, .weight_decay = 0.02}),
               {0.47447585303096773, -1.7845967428652985, 0.060298971276756853});
    // RMSprop(lr=.01, alpha=.9, eps=1e-6, momentum=.7, centered=True)
    check_last(
        RmsProp({.lr = 0.01, .alpha = 0.9, .epsilon = 1e-6, .momentum = 0.7, .centered = true}),
        {0.86968137567561454, -1.9493130800413128, 0.44283415549500732});
}
