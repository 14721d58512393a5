// One pass over many tensors: the same bits as one by one, on every instruction set and number of
// threads.
#include <doctest/doctest.h>

#include <chrono>
#include <thread>

#include "autograd/optim/ema.h"
#include "autograd/optim/lbfgs.h"
#include "engine/cancel.h"
#include "engine/error.h"
#include "engine/functions.h"
#include "engine/isa.h"
#include "engine/parallel.h"
#include "engine/random.h"
#include "tests/autograd/optim/every.h"
#include "tests/fuzz/allocations.h"
#include "tests/support/bits.h"
#include "tests/support/message.h"
#include "tests/support/restore.h"

using namespace mercer;

namespace {

const std::vector<Shape> shapes{{0}, {1}, {7}, {33}, {64}, {5, 13}, {40000}, {3}, {0, 4}, {70001}};

// f32 and f64, in turn; the gradient of one tensor is strided.
std::vector<Tensor> values(uint64_t stream, size_t tensors = shapes.size()) {
    std::vector<Tensor> t;
    for (size_t i = 0; i < tensors; ++i) {
        const DType dtype = i % 3 == 1 ? DType::f64 : DType::f32;
        const Shape& s = shapes[i];
        t.push_back(randn(Key{stream, i}, s, dtype));
        if (stream > 0 && i == 5) t.back() = transpose(randn(Key{stream, i}, {s[1], s[0]}, dtype));
    }
    return t;
}

std::vector<Tensor*> addresses(std::vector<Tensor>& t) {
    std::vector<Tensor*> p;
    for (Tensor& x : t) p.push_back(&x);
    return p;
}

constexpr uint64_t steps = 7;

std::vector<Tensor> run(const every::Row& row) {
    std::vector<Tensor> p = values(0);
    const std::unique_ptr<Optimizer> optimizer = row.make();
    for (uint64_t t = 1; t <= steps; ++t) optimizer->step(addresses(p), values(t));
    for (const auto& [name, tensor] : optimizer->state()) p.push_back(tensor);
    return p;
}

}  // namespace

TEST_CASE("many tensors at once are as each on its own") {
    for (const every::Row& row : every::row()) {
        const std::vector<Tensor> together = run(row);
        std::vector<Tensor> p = values(0);
        for (size_t i = 0; i < p.size(); ++i) {
            const std::unique_ptr<Optimizer> optimizer = row.make();
            Tensor* address[] = {&p[i]};
            for (uint64_t t = 1; t <= steps; ++t)
                optimizer->step(address, std::span(&values(t)[i], 1));
            CHECK_MESSAGE(difference(together[i], p[i]) == "", row.name, ", tensor ", i);
            CHECK(p[i].version() == steps);
        }
    }
}

TEST_CASE("the same bits on every instruction set and number of threads") {
    const Restore restore;
    for (const every::Row& row : every::row()) {
        set_isa(Isa::scalar);
        set_thread_count(1);
        const std::vector<Tensor> expected = run(row);
        for (const Isa isa : available_isas())
            for (const int threads : {1, 2}) {
                set_isa(isa);
                set_thread_count(threads);
                const std::vector<Tensor> got = run(row);
                for (size_t i = 0; i < got.size(); ++i)
                    CHECK_MESSAGE(difference(expected[i], got[i]) == "", row.name, ", result ", i,
                                  " on ", name_of(isa), ", ", threads, " threads");
            }
    }
}

TEST_CASE("f32 follows f64") {
    for (const every::Row& row : every::row()) {
        Tensor narrow = randn(Key{4, 1}, {33}), wide = cast(narrow, DType::f64);
        const std::unique_ptr<Optimizer> one = row.make(), two = row.make();
        for (uint64_t t = 0; t < steps; ++t) {
            const Tensor g = randn(Key{5, t}, {33}), h = cast(g, DType::f64);
            Tensor *a[] = {&narrow}, *b[] = {&wide};
            one->step(a, std::span(&g, 1));
            two->step(b, std::span(&h, 1));
        }
        const double apart = max(abs(cast(narrow, DType::f64) - wide)).item<double>();
        CHECK_MESSAGE(apart < 2e-6, row.name, ": ", apart);
    }
}

TEST_CASE("a parameter without a gradient is left alone, and so is its count of updates") {
    for (const every::Row& row : every::row()) {
        std::vector<Tensor> p = values(0, 4), q = values(0, 4);
        const std::unique_ptr<Optimizer> some = row.make(), all = row.make();
        for (uint64_t t = 1; t <= 6; ++t) {
            std::vector<Tensor> g = values(t, 4);
            // Updates 1, 2, 3 of tensor 3 take place at steps 2, 4, 6.
            if (t % 2) g[3] = Tensor();
            some->step(addresses(p), g);
            if (t % 2 == 0) all->step(std::vector<Tensor*>{&q[3]}, std::span(&g[3], 1));
        }
        CHECK_MESSAGE(difference(p[3], q[3]) == "", row.name);
        CHECK(p[3].version() == 3);
        CHECK(some->state().at("step").to_vector<int64_t>() == std::vector<int64_t>{6, 6, 6, 3});
    }
}

TEST_CASE("learning rates and weight decay of single parameters") {
    for (const every::Row& row : every::row()) {
        // Tensor 5 is a matrix.
        std::vector<Tensor> p = values(0, 6), q = values(0, 6);
        const std::unique_ptr<Optimizer> grouped = row.make();
        std::vector<ParameterOptions> each = no_decay_for_vectors(addresses(p));
        for (size_t i = 0; i < 6; ++i) CHECK(each[i].weight_decay.has_value() == (i != 5));
        each[2].lr_scale = 0.5;
        each[3].weight_decay = 0.3;
        grouped->configure(each);
        for (uint64_t t = 1; t <= steps; ++t) grouped->step(addresses(p), values(t, 6));
        for (size_t i = 0; i < 6; ++i) {
            const std::unique_ptr<Optimizer> single = row.make();
            if (i == 2) single->set_lr(0.5 * single->lr());
            if (each[i].weight_decay)
                single->configure({{.lr_scale = 1, .weight_decay = each[i].weight_decay}});
            Tensor* address[] = {&q[i]};
            for (uint64_t t = 1; t <= steps; ++t)
                single->step(address, std::span(&values(t, 6)[i], 1));
            CHECK_MESSAGE(difference(p[i], q[i]) == "", row.name, ", tensor ", i);
        }
    }
    // Decay alone: a gradient of zero.
    Tensor p = Tensor::ones({2, 2}), b = Tensor::ones({2});
    const std::vector<Tensor*> both{&p, &b};
    AdamW adamw({.lr = 0.5, .weight_decay = 0.25});
    adamw.configure(no_decay_for_vectors(both));
    adamw.step(both, std::vector<Tensor>{Tensor::zeros({2, 2}), Tensor::zeros({2})});
    CHECK(p.to_vector<double>() == std::vector<double>(4, 0.875));
    CHECK(b.to_vector<double>() == std::vector<double>(2, 1));
}

TEST_CASE("small steps allocate nothing after the first") {
    for (const every::Row& row : every::row()) {
        std::vector<Tensor> p = values(0, 5), g = values(1, 5);
        const std::vector<Tensor*> at = addresses(p);
        const std::unique_ptr<Optimizer> optimizer = row.make();
        optimizer->step(at, g);
        test::watch_allocations();
        for (int t = 0; t < 8; ++t) optimizer->step(at, g);
        CHECK_MESSAGE(test::stop_watching().largest == 0, row.name);
    }
    test::watch_allocations();
    const Tensor counted = Tensor::empty({3});
    CHECK(test::stop_watching().largest > 0);
}

TEST_CASE("a stop takes effect between steps, never within") {
    const Tensor start = randn(Key{1, 1}, {400000}), g = randn(Key{1, 2}, {400000});
    for (int trial = 0; trial < 10; ++trial) {
        Tensor p = start.clone(), expected = start.clone();
        Tensor *at[] = {&p}, *other[] = {&expected};
        Adam adam, whole;
        std::stop_source source;
        int steps = 0;
        {
            const CancelScope scope(source.get_token());
            std::thread later([&] {
                std::this_thread::sleep_for(std::chrono::microseconds(150 * trial));
                source.request_stop();
            });
            try {
                for (;; ++steps) adam.step(at, std::span(&g, 1));
            } catch (const Cancelled&) {
            }
            later.join();
        }
        for (int t = 0; t < steps; ++t) whole.step(other, std::span(&g, 1));
        CHECK(difference(p, expected) == "");
        CHECK(difference(adam.state().at("step"), Tensor::full({steps > 0}, steps, DType::i64)) ==
              "");
    }
}

TEST_CASE("what does not fit is refused, and nothing is changed") {
    for (const every::Row& row : every::row()) {
        const std::unique_ptr<Optimizer> optimizer = row.make();
        Tensor p = Tensor::ones({3}), q = Tensor::ones({4});
        const std::vector<Tensor*> both{&p, &q};
        const Tensor three = Tensor::ones({3}), four = Tensor::ones({4});
        const auto step = [&](std::vector<Tensor*> parameters, std::vector<Tensor> gradients) {
            optimizer->step(parameters, gradients);
        };
        CHECK_THROWS_AS(step(both, {three, three}), ShapeError);
        CHECK_THROWS_AS(step(both, {three}), ShapeError);
        CHECK_THROWS_AS(step(both, {three, cast(four, DType::f64)}), ShapeError);
        Tensor whole = Tensor::zeros({2, 2}, DType::i32), none;
        CHECK_THROWS_AS(step({&whole}, {whole}), DTypeError);
        CHECK_THROWS_AS(step({&none}, {three}), ShapeError);
        CHECK_THROWS_AS(step({&p, nullptr}, {three, four}), ValueError);
        Tensor matrix = Tensor::zeros({2, 3}), turned = transpose(matrix);
        CHECK_THROWS_AS(step({&turned}, {Tensor::zeros({3, 2})}), InPlaceError);
        CHECK_THROWS_AS(step({&p, &p}, {three, three}), InPlaceError);
        Tensor part = matrix.view({3}, {1}, 3), front = matrix.view({4}, {1}, 0);
        CHECK_THROWS_AS(step({&part, &front}, {three, four}), InPlaceError);
        optimizer->configure({{}});
        CHECK_THROWS_AS(step(both, {three, four}), ShapeError);
        optimizer->configure({});
        CHECK(p.version() == 0);
        step(both, {three, four});
        CHECK_THROWS_AS(step({&p}, {three}), ShapeError);
        if (optimizer->state().size() > 2) {
            CHECK_THROWS_AS(step({&q, &p}, {four, three}), ShapeError);
        }
        CHECK_THROWS_AS(optimizer->set_lr(-1), ValueError);
        CHECK_THROWS_AS(optimizer->configure({{.lr_scale = -1}}), ValueError);
        CHECK_THROWS_AS(optimizer->configure({{.lr_scale = 1, .weight_decay = -1}}), ValueError);
    }
}

TEST_CASE("a null pointer among the parameters is named") {
    Tensor p = Tensor::ones({3});
    Tensor* const both[] = {&p, nullptr};
    CHECK(message_of<ValueError>([&] { no_decay_for_vectors(both); }) ==
          "[no_decay_for_vectors] parameter 1 is a null pointer");
    CHECK(message_of<ValueError>([&] { Ema().update(both); }) ==
          "[ema] parameter 1 is a null pointer");
    CHECK(message_of<ValueError>([&] { Lbfgs().step(both, [] { return LossAndGradients{}; }); }) ==
          "[lbfgs] parameter 1 is a null pointer");
    Ema ema;
    Tensor q = Tensor::ones({3});
    ema.update(std::vector<Tensor*>{&p, &q});
    CHECK_THROWS_AS(ema.update(both), ValueError);
    CHECK_THROWS_AS(ema.swap_in(both), ValueError);
    ema.swap_in(std::vector<Tensor*>{&p, &q});
    CHECK_THROWS_AS(ema.swap_out(both), ValueError);
}

TEST_CASE("options out of range are named") {
    const auto named = [](auto make, const char* option) {
        try {
            make();
        } catch (const ValueError& error) {
            return std::string(error.what()).find(option) != std::string::npos;
        }
        return false;
    };
#define NAMED(Kind, option, ...) CHECK(named([] { Kind({.option = __VA_ARGS__}); }, #option " = "))
    NAMED(Sgd, lr, -1);
    NAMED(Sgd, momentum, 1);
    NAMED(Sgd, dampening, 2);
    NAMED(Sgd, nesterov, true);
    NAMED(Sgd, weight_decay, -0.1);
    NAMED(Adam, lr, std::numeric_limits<double>::quiet_NaN());
    NAMED(Adam, beta1, 1);
    NAMED(Adam, beta2, -0.5);
    NAMED(Adam, epsilon, 0);
    NAMED(AdamW, weight_decay, -1);
    NAMED(RAdam, threshold, 3);
    NAMED(Adagrad, initial, -1);
    NAMED(Adagrad, lr_decay, -1);
    NAMED(RmsProp, alpha, 1);
    NAMED(RmsProp, momentum, -0.1);
#undef NAMED
}
