// What is cut short by a stop, or refused, has changed nothing or is done whole.
#include <doctest/doctest.h>

#include <chrono>
#include <cmath>
#include <thread>

#include "autograd/functions.h"
#include "autograd/optim/accumulate.h"
#include "autograd/optim/clip.h"
#include "autograd/optim/ema.h"
#include "autograd/optim/lbfgs.h"
#include "autograd/tape.h"
#include "engine/cancel.h"
#include "engine/error.h"
#include "engine/finite.h"
#include "engine/memory.h"
#include "tests/support/bits.h"

using namespace mercer;

namespace {

// f under a stop that comes after a while, for many whiles; each time f is done or threw Cancelled, look(threw) looks.
template <class F, class Look>
void with_stops(F f, Look look) {
    for (int us = 0; us < 3000; us += 150) {
        std::stop_source source;
        std::thread clock([&] {
            std::this_thread::sleep_for(std::chrono::microseconds(us));
            source.request_stop();
        });
        bool threw = false;
        try {
            const CancelScope scope(source.get_token());
            f();
        } catch (const Cancelled&) {
            threw = true;
        }
        clock.join();
        look(threw);
    }
}

bool all_are(const Tensor& t, double value) { return all(equal(t, value)).item<bool>(); }

constexpr int64_t n = 1 << 21;

}  // namespace

TEST_CASE("a gradient is added whole or not at all") {
    const Tensor ones = Tensor::ones({n});
    GradientAccumulator sums;
    with_stops(
        [&] {
            sums = {};
            sums.add({&ones, 1});
            sums.add({&ones, 1});
        },
        [&](bool) {
            if (sums.weight() == 0) return;
            std::vector<Tensor> mean = sums.take();
            CHECK(all_are(mean[0], 1));
        });
}

TEST_CASE("a gradient that a check refuses is not added") {
    const Tensor ones = Tensor::ones({3}), bad = Tensor::from({1, HUGE_VALF, 1});
    GradientAccumulator sums;
    sums.add({&ones, 1});
    {
        const FiniteScope scope(FiniteCheck::infinite);
        CHECK_THROWS_AS(sums.add({&bad, 1}), NumericalError);
    }
    CHECK(sums.weight() == 1);
    CHECK(all_are(sums.take()[0], 1));
}

TEST_CASE("gradients are clipped whole or not at all") {
    std::vector<Tensor> g;
    with_stops(
        [&] {
            g = {Tensor::ones({n}), Tensor::ones({n})};
            clip_by_norm(g, 1.0);
        },
        [&](bool) {
            if (g.size() != 2) return;
            const float first = g[0].data<float>()[0];
            for (const Tensor& t : g) CHECK(all_are(t, first));
        });
}

TEST_CASE("averages: an update that was stopped does not count, a swap loses nothing") {
    Tensor p = Tensor::from({1, 2, 3});
    Tensor* one[] = {&p};
    Ema corrected({.decay = 0.9, .bias_correction = true});
    std::stop_source stopped;
    stopped.request_stop();
    for (int i = 0; i < 3; ++i) {
        const CancelScope scope(stopped.get_token());
        CHECK_THROWS_AS(corrected.update(one), Cancelled);
    }
    corrected.update(one);
    CHECK(all_are(abs(corrected.values()[0] - p), 0));

    // The first one fails once it has begun: where its parameter is to lie densely.
    Tensor scattered = transpose(Tensor::ones({300, 2}));
    Tensor* strided[] = {&scattered};
    Ema anew({.decay = 0.5});
    set_memory_limit(memory_stats().live + 2400 + 1000 + 64);
    CHECK_THROWS_AS(anew.update(strided), MemoryError);
    set_memory_limit(0);
    scattered.fill(5);
    anew.update(strided);
    CHECK(all_are(anew.values()[0], 5));

    // The second parameter cannot be written.
    Tensor a = Tensor::full({3}, 1), b = broadcast_to(Tensor::scalar(7), {3});
    Tensor* both[] = {&a, &b};
    Ema half({.decay = 0.5});
    half.update(both);
    a.fill(3);
    half.update(both);
    CHECK_THROWS_AS(half.swap_in(both), InPlaceError);
    CHECK(all_are(a, 3));

    Tensor large = Tensor::full({n}, 1);
    Tensor* parameters[] = {&large, &p};
    Ema ema({.decay = 0.5});
    ema.update(parameters);
    large.fill(3);
    ema.update(parameters);
    with_stops([&] { ema.swap_in(parameters); },
               [&](bool threw) {
                   CHECK(all_are(large, threw ? 3 : 2));
                   if (!threw) ema.swap_out(parameters);
                   CHECK(all_are(large, 3));
               });
}

TEST_CASE("L-BFGS stopped at a trial point is back at the last that was accepted") {
    Tensor p = Tensor::from({1, 2, 3});
    Tensor* parameters[] = {&p};
    std::stop_source source;
    int calls = 0;
    Lbfgs lbfgs;
    const auto evaluate = [&] {
        if (++calls == 2) source.request_stop();
        Tape tape;
        const Var x = tape.watch(p);
        const Var loss = sum(x * x);
        return LossAndGradients{loss.value().item<double>(), {tape.gradient(loss, {x})[0]}};
    };
    {
        const CancelScope scope(source.get_token());
        CHECK_THROWS_AS(lbfgs.step(parameters, evaluate), Cancelled);
    }
    CHECK(calls == 2);
    CHECK(difference(p, Tensor::from({1, 2, 3})) == "");
}
