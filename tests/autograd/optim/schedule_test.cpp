// Learning rates against their formulas, and against PyTorch's numbers (torch 2.15.0, the settings
// beside them).
#include "autograd/optim/schedule.h"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>

#include "autograd/optim/plateau.h"
#include "engine/error.h"
#include "engine/io/safetensors.h"
#include "tests/support/files.h"

using namespace mercer;

namespace {

const double pi = std::acos(-1.0);

template <class F>
void check(const Schedule& schedule, int64_t steps, F expected) {
    for (int64_t t = 0; t < steps; ++t)
        CHECK_MESSAGE(schedule(t) == doctest::Approx(expected(double(t))).epsilon(1e-13), "step ",
                      t);
}

void check_numbers(const Schedule& schedule, const std::vector<double>& expected) {
    for (size_t t = 0; t < expected.size(); ++t)
        CHECK_MESSAGE(schedule(int64_t(t)) == doctest::Approx(expected[t]).epsilon(1e-12), "step ",
                      t);
}

}  // namespace

TEST_CASE("constant and by steps") {
    check(constant_lr(0.3), 6, [](double) { return 0.3; });
    check(step_lr(0.4, 3, 0.5), 10, [](double t) { return 0.4 / std::exp2(std::floor(t / 3)); });
    // StepLR(3, .5) and MultiStepLR([2, 5], .5) from .4
    check_numbers(step_lr(0.4, 3, 0.5), {.4, .4, .4, .2, .2, .2, .1, .1});
    check_numbers(step_lr(0.4, std::vector<int64_t>{2, 5}, 0.5), {.4, .4, .2, .2, .2, .1, .1, .1});
}

TEST_CASE("cosine, SGDR eq. 5") {
    check(cosine_lr(0.4, 0.05, 6), 7,
          [](double t) { return 0.05 + 0.5 * (0.4 - 0.05) * (1 + std::cos(t / 6 * pi)); });
    CHECK(cosine_lr(0.4, 0.05, 6)(100) == doctest::Approx(0.05));
    // CosineAnnealingLR(6, .05) from .4
    check_numbers(cosine_lr(0.4, 0.05, 6),
                  {.4, 0.3765544456622768, 0.3125, 0.225, 0.1375, 0.073445554337723234, .05});
    // CosineAnnealingWarmRestarts(3, 2, .05) from .4
    check_numbers(cosine_restarts_lr(0.4, 0.05, 3, 2),
                  {.4, 0.3125, 0.1375, .4, 0.3765544456622768, 0.3125, 0.225, 0.1375,
                   0.073445554337723234, .4, 0.39403701960058696, 0.3765544456622768});
    check(cosine_restarts_lr(0.4, 0.05, 4), 13, [](double t) {
        return 0.05 + 0.5 * (0.4 - 0.05) * (1 + std::cos(std::fmod(t, 4) / 4 * pi));
    });
    // A period longer than numbers are is the last.
    for (const int64_t growth : {int64_t{2}, int64_t{1} << 30}) {
        const double lr = cosine_restarts_lr(0.4, 0.05, 4, growth)(INT64_MAX);
        CHECK(lr >= 0.05);
        CHECK(lr <= 0.4);
    }
    CHECK(cosine_restarts_lr(0.4, 0.05, int64_t{1} << 40, int64_t{1} << 30)(int64_t{1} << 40) ==
          0.4);
}

TEST_CASE("inverse square root: Vaswani eq. 3, and fairseq's") {
    check(transformer_lr(512, 4), 12, [](double t) {
        const double step = t + 1;
        return std::pow(512, -0.5) * std::min(std::pow(step, -0.5), step * std::pow(4, -1.5));
    });
    // fairseq: lr_step = (peak − start)/warm_up, decay_factor = peak·√warm_up.
    check(inverse_sqrt_lr(5e-4, 4, 1e-7), 12, [](double t) {
        const double lr_step = (5e-4 - 1e-7) / 4, decay_factor = 5e-4 * std::sqrt(4.0);
        return t < 4 ? 1e-7 + t * lr_step : decay_factor * std::pow(t, -0.5);
    });
    check_numbers(inverse_sqrt_lr(1, 0), {1, 1, std::sqrt(0.5), std::sqrt(1 / 3.0), 0.5});
}

TEST_CASE("warm-up before any schedule") {
    check_numbers(warmed_up(step_lr(0.8, 2, 0.5), 4), {0, .2, .4, .6, .8, .8, .4, .4, .2});
    check_numbers(warmed_up(constant_lr(1), 2, 0.5), {.5, .75, 1, 1});
    check_numbers(warmed_up(constant_lr(1), 0), {1, 1});
}

TEST_CASE("one cycle") {
    // OneCycleLR(max_lr=.4, total_steps=10, pct_start=.3, div_factor=25, final_div_factor=1e4)
    check_numbers(
        one_cycle_lr(0.4, 10),
        {0.016, 0.208, 0.4, 0.38019385280538953, 0.32469826157990522, 0.24450480877451572,
         0.15549679122548429, 0.075303338420094804, 0.019807747194610516, 1.6e-06, 1.6e-06});
    // The same with three_phase=True, anneal_strategy='linear'
    check_numbers(one_cycle_lr(0.4, 10, {.linear = true, .three_phases = true}),
                  {0.016, 0.208, 0.4, 0.208, 0.016, 0.01280032, 0.00960064, 0.00640096,
                   0.0032012800000000008, 1.6000000000009063e-06});
    // Smith and Topin's shape by hand: up and down in 4 steps each, then two to a hundredth.
    check_numbers(one_cycle_lr(1, 11,
                               {.rising = 5 / 11.0,
                                .start_divisor = 5,
                                .final_divisor = 100,
                                .linear = true,
                                .three_phases = true}),
                  {.2, .4, .6, .8, 1, .8, .6, .4, .2, .101, .002});
    CHECK(one_cycle_lr(0.4, 1)(0) < 0.4);
}

TEST_CASE("a plateau") {
    const std::vector<double> scores{1, .9, .9, .95, .91, .8999, .9, .5, .6, .6, .6, .6, .6, .6};
    const auto run = [&](Plateau plateau, double sign, const std::vector<double>& expected) {
        for (size_t i = 0; i < scores.size(); ++i)
            CHECK_MESSAGE(plateau.step(sign * scores[i]) == doctest::Approx(expected[i]), "score ",
                          i);
    };
    // ReduceLROnPlateau(factor=.5, patience=2, threshold=1e-3, cooldown=1, min_lr=.06) from .4
    run(Plateau({.lr = .4,
                 .factor = .5,
                 .least = .06,
                 .patience = 2,
                 .cooldown = 1,
                 .threshold = 1e-3}),
        1, {.4, .4, .4, .4, .2, .2, .2, .2, .2, .2, .1, .1, .1, .1});
    // mode='max', factor=.5, patience=1, threshold=.05, threshold_mode='abs'
    run(Plateau({.lr = .4,
                 .factor = .5,
                 .patience = 1,
                 .threshold = .05,
                 .relative = false,
                 .maximize = true}),
        -1, {.4, .4, .4, .2, .2, .1, .1, .1, .1, .05, .05, .025, .025, .0125});
    // Below 0, better is lower still; PyTorch would take −0.9995 for better than −1.
    Plateau below({.lr = 1, .factor = .5, .patience = 0, .threshold = 1e-3});
    CHECK(below.step(-1) == 1);
    CHECK(below.step(-0.9995) == 0.5);
    CHECK(below.step(-1.002) == 0.5);
    CHECK(below.step(std::numeric_limits<double>::quiet_NaN()) == 0.25);
    // The floor, and a start below it.
    Plateau floor({.lr = 1, .factor = .1, .least = .5, .patience = 0});
    floor.step(1);
    CHECK(floor.step(1) == 0.5);
    CHECK(floor.step(1) == 0.5);
}

TEST_CASE("a plateau goes on from a file") {
    const test::TemporaryDirectory folder;
    const PlateauOptions options{.lr = .4, .factor = .5, .patience = 2, .cooldown = 2};
    for (int cut = 0; cut < 14; ++cut) {
        Plateau whole(options), first(options), second(options);
        for (int i = 0; i < 14; ++i) {
            if (i == cut) {
                io::write_safetensors(folder / "p.safetensors", first.state());
                second.restore(io::Safetensors::open(folder / "p.safetensors").read_all());
            }
            const double score = i < 2 ? -i : 0.5;
            const double expected = whole.step(score);
            CHECK((i < cut ? first : second).step(score) == expected);
        }
        CHECK(whole.lr() < 0.2);
    }
    Plateau plateau;
    NamedTensors state = plateau.state();
    state.erase("bad");
    CHECK_THROWS_WITH_AS(plateau.restore(state), "[plateau] the state lacks 'bad'", ValueError);
    state = plateau.state();
    state["cooldown"] = Tensor::scalar(1);
    CHECK_THROWS_AS(plateau.restore(state), DTypeError);
}

TEST_CASE("arguments out of range are named") {
    CHECK_THROWS_AS(constant_lr(-1), ValueError);
    CHECK_THROWS_AS(step_lr(1, 0), ValueError);
    CHECK_THROWS_AS(step_lr(1, std::vector<int64_t>{3, 2}), ValueError);
    CHECK_THROWS_AS(cosine_lr(1, 0, 0), ValueError);
    CHECK_THROWS_AS(cosine_restarts_lr(1, 0, 5, 0), ValueError);
    CHECK_THROWS_AS(transformer_lr(0, 5), ValueError);
    CHECK_THROWS_AS(inverse_sqrt_lr(1, -1), ValueError);
    CHECK_THROWS_AS(warmed_up(constant_lr(1), 3, 2), ValueError);
    CHECK_THROWS_AS(one_cycle_lr(1, 0), ValueError);
    CHECK_THROWS_AS(one_cycle_lr(1, 9, {.rising = 0.6, .three_phases = true}), ValueError);
    CHECK_THROWS_AS(Plateau({.factor = 1}), ValueError);
    CHECK_THROWS_AS(Plateau({.patience = -1}), ValueError);
}
