// gradient(): several losses, given cotangents, sums that go on, errors that lose nothing.
#include <doctest/doctest.h>

#include <chrono>
#include <cmath>
#include <memory>
#include <string>

#include "autograd/functions.h"
#include "autograd/gradcheck.h"
#include "autograd/tape.h"
#include "engine/error.h"
#include "engine/random.h"
#include "tests/support/bits.h"
#include "tests/support/every_isa.h"
#include "tests/support/message.h"

using namespace mercer;

namespace {
Tensor numbers(std::initializer_list<double> values) {
    return Tensor::from(std::vector<double>(values));
}
}  // namespace

TEST_CASE("several losses: the gradient of their sum, in one pass") {
    Tape tape;
    const Var x = tape.watch(numbers({1, 2, 3})), w = tape.watch(numbers({4, 5, 6}));
    const Var a = sum(x * w), b = exp(x), c = sum(w);
    const auto [dx, dw] =
        tape.gradient({a, b, c}, {x, w},
                      {.retain = true, .cotangents = {Tensor(), numbers({1, 0, 0}), Tensor()}});
    CHECK(dx.to_vector<double>() == std::vector<double>{4 + std::exp(1.0), 5, 6});
    CHECK(dw.to_vector<double>() == std::vector<double>{2, 3, 4});
    const auto [twice] = tape.gradient({a, a}, {x}, retain);
    CHECK(twice.to_vector<double>() == std::vector<double>{8, 10, 12});
    const auto [recorded] = tape.gradient({a, c}, {w}, create_graph);
    CHECK(recorded.value().to_vector<double>() == std::vector<double>{2, 3, 4});
    CHECK(tape.gradient(sum(recorded), {x})[0].to_vector<double>() == std::vector<double>{1, 1, 1});
}

TEST_CASE("cotangents that do not fit") {
    Tape tape;
    const Var x = tape.watch(numbers({1, 2}));
    const Var y = x * 2.0;
    CHECK_THROWS_AS(tape.gradient({y, y}, {x}, {.cotangents = {numbers({1, 1})}}), TapeError);
    CHECK_THROWS_AS(tape.gradient(y, {x}, {.cotangents = {Tensor::ones({2})}}), ShapeError);  // f32
    CHECK_THROWS_AS(tape.gradient(y, {x}, {.onto = {numbers({1})}}), ShapeError);
    CHECK_THROWS_AS(tape.gradient(y, {x}, {.onto = {numbers({1, 1}), numbers({1, 1})}}), TapeError);
    CHECK(message_of([&] { tape.gradient(y, {x}); }) ==
          "[gradient] the loss has shape (2); reduce it to one element or give a cotangent");
}

TEST_CASE("sums go on over micro-batches, in their own memory") {
    const Tensor weights = randn(Key{1, 1}, {5, 3}, DType::f64),
                 data = randn(Key{1, 2}, {8, 5}, DType::f64);
    const auto loss = [](const Var& x, const Var& w) { return sum(tanh(matmul(x, w))); };
    Tape tape;
    std::vector<Tensor> sums(1);
    const void* memory = nullptr;
    for (int64_t part = 0; part < 4; ++part) {
        tape.reset();
        const Var w = tape.watch(weights);
        const std::vector<Var> wrt{w};
        sums = tape.gradient(loss(Var(slice(data, 0, 2 * part, 2 * part + 2)), w), wrt,
                             {.onto = std::move(sums)});
        if (part == 1) memory = sums[0].raw();
        if (part > 1) CHECK(sums[0].raw() == memory);
    }
    tape.reset();
    const Var w = tape.watch(weights);
    const Tensor whole = tape.gradient(loss(Var(data), w), {w})[0];
    CHECK(max(abs(whole - sums[0])).item<double>() < 1e-13);
}

TEST_CASE("a sum for a value in the middle, and for one that nothing flows to") {
    Tape tape;
    const Var x = tape.watch(numbers({3})), late = tape.watch(numbers({1}));
    const Var h = x * 2.0, y = h * h;
    const auto g = tape.gradient(
        y, {x, h, late}, {.retain = true, .onto = {numbers({1}), numbers({10}), numbers({7})}});
    CHECK(g[0].item<double>() == 1 + 24);  // what was added to h stays with h
    CHECK(g[1].item<double>() == 10 + 12);
    CHECK(g[2].item<double>() == 7);
    CHECK_THROWS_AS(tape.gradient(y, {x, x}, {.onto = {numbers({1}), numbers({2})}}), TapeError);
}

TEST_CASE("a pass over dropped values is refused before it drops others") {
    Tape tape;
    const Var x = tape.watch(numbers({0.5}));
    const Var shared = exp(x), a = sin(shared), b = cos(shared);
    tape.gradient(a, {x});
    CHECK(message_of([&] { tape.gradient(b, {x}); }).find("[exp] its saved values were dropped") ==
          0);
    CHECK(tape.gradient(b, {shared})[0].item<double>() ==
          doctest::Approx(-std::sin(std::exp(0.5))));  // cos still has what it kept
}

TEST_CASE("values without a derivative on the way are told apart from forgotten watches") {
    Tape tape;
    const Var x = tape.watch(numbers({1, 2}));
    const Var counted = cast(greater(x, 1.5), DType::f64);
    CHECK(message_of([&] {
              tape.gradient(sum(counted), {x});
          }).find("operation without derivative") != std::string::npos);
    CHECK(tape.gradient(sum(counted * x), {x})[0].to_vector<double>() == std::vector<double>{0, 1});
}

TEST_CASE("a million nodes: no recursion, linear time, and only the last piece for a late value") {
    using Clock = std::chrono::steady_clock;
    const auto seconds = [](Clock::time_point since) {
        return std::chrono::duration<double>(Clock::now() - since).count();
    };
    const auto chain = [&](int n, double& backward, double& freed) {
        auto tape = std::make_unique<Tape>();
        const Var x = tape->watch(Tensor::from({1.0f}));
        Var y = x, late;
        for (int i = 0; i < n; ++i) {
            y = i % 2 ? y + x : sin(y);
            if (i == n - 10) late = y;
        }
        auto start = Clock::now();
        for (int i = 0; i < 100; ++i) tape->gradient(y, {late}, retain);
        CHECK(seconds(start) < 0.5);  // 10 nodes each, not n
        start = Clock::now();
        const float slope = tape->gradient(y, {x})[0].item<float>();
        backward = seconds(start);
        start = Clock::now();
        tape.reset();
        freed = seconds(start);
        return slope;
    };
    double backward_small, backward, freed_small, freed;
    chain(100000, backward_small, freed_small);
    CHECK(std::isfinite(chain(1000000, backward, freed)));
    CHECK(backward < 40 * backward_small);
    CHECK(freed < 40 * freed_small + 0.01);
    MESSAGE("a million nodes: backward " << backward << " s, freed in " << freed << " s");
}

TEST_CASE("the gradient of a solution goes through the factors of its value") {
    // Rows that exchange at every step; batches that are broadcast.
    const auto shifted = [](Shape shape) {
        const int64_t n = shape.back();
        return roll(
            randn(Key{7, 1}, shape, DType::f64) * 0.1 + Tensor::eye(n, -1, DType::f64) * 3.0,
            n / 3 + 1, -2);
    };
    on_every_isa([&] {
        for (const auto& [a, b] :
             std::vector<std::pair<Tensor, Shape>>{{shifted({5, 5}), {5, 1}},
                                                   {shifted({3, 70, 70}), {70, 4}},
                                                   {shifted({9, 9}), {2, 9, 40}},
                                                   {shifted({200, 200}), {200, 3}}}) {
            Tape tape;
            const Var x = tape.watch(a), y = tape.watch(randn(Key{7, 2}, b, DType::f64)),
                      z = solve(x, y);
            CHECK(tape.operation(0).saved_values == 4);  // and not factored again
            const Tensor g = randn(Key{7, 3}, z.shape(), DType::f64);
            const auto [da, db] = tape.gradient(z, {x, y}, {.retain = true, .cotangents = {g}});
            const Tensor each = matmul(transpose(inverse(a)), g);
            const auto apart = [](const Tensor& u, const Tensor& v) {
                return max(abs(u - v)).item<double>() / max(abs(v)).item<double>();
            };
            CHECK(apart(db, sum_to(each, b)) < 1e-13);
            CHECK(apart(da, sum_to(-matmul(each, transpose(z.value())), a.shape())) < 1e-13);
            const auto [ra, rb] = tape.gradient(z, {x, y}, CreateGraph{{g}});
            CHECK(difference(ra.value(), da) == "");
            CHECK(difference(rb.value(), db) == "");
        }
        const auto f = [](std::span<const Var> v) { return solve(v[0], v[1]); };
        const std::vector<Tensor> inputs{shifted({2, 5, 5}),
                                         randn(Key{7, 4}, {2, 5, 3}, DType::f64)};
        CHECK(gradcheck(f, inputs).failure == "");
    });
}

TEST_CASE("eigenvectors near the end of the range have a gradient") {
    for (const auto& [dtype, most] :
         {std::pair{DType::f32, 3e38}, std::pair{DType::f64, 1.7e308}}) {
        Tape tape;
        const Var a = tape.watch(cast(reshape(numbers({most, 0, 0, most / 2}), {2, 2}), dtype));
        const auto [values, vectors] = eigh(a);
        const Tensor da = tape.gradient(sum(values) + sum(vectors * vectors * 3.0), {a})[0];
        CHECK(max(abs(da - Tensor::eye(2, -1, dtype))).item<double>() < 1e-6);
    }
}
