// One's own operation, from a pair of lambdas.
#include "autograd/custom.h"

#include <doctest/doctest.h>

#include <string>

#include "autograd/functions.h"
#include "autograd/gradcheck.h"
#include "engine/error.h"
#include "engine/memory.h"
#include "engine/random.h"

using namespace mercer;

namespace {

const auto log_cosh = custom(
    "log_cosh", [](const Tensor& x) { return log(cosh(x)); },
    [](auto& c) { c.give(0, c.g() * tanh(c.in(0))); }, input_bit(0));

const auto polar = custom(
    "polar",
    [](const Tensor& r, const Tensor& angle) {
        return std::array{r * cos(angle), r * sin(angle)};
    },
    [](auto& c) {
        const auto r = c.in(0), x = c.out(0), y = c.out(1);
        for (int k : {0, 1}) {
            if (!c.g(k).defined()) continue;
            c.give(0, c.g(k) * (k ? y : x) / r);
            c.give(1, c.g(k) * (k ? x : -y));
        }
    });

Tensor normal(uint64_t n, const Shape& shape) { return randn(Key{9, n}, shape, DType::f64); }

}  // namespace

TEST_CASE("values and derivatives, first and second") {
    const Tensor x[] = {normal(1, {3, 4})};
    const GradcheckReport report =
        gradcheck([](std::span<const Var> v) { return log_cosh(v[0]); }, x);
    CHECK_MESSAGE(report.ok, report.failure);
    Tape tape;
    const Var v = tape.watch(x[0]);
    const Var y = log_cosh(v);
    CHECK(tape.saved_bytes() == 12 * 8);  // the operand only
    CHECK(max(abs(y.value() - log(cosh(x[0])))).item<double>() == 0);
    CHECK(log_cosh(x[0]).is_constant());
}

TEST_CASE("several results, from saved results") {
    const Tensor x[] = {exp(normal(2, {5})), normal(3, {5})};
    for (int k : {0, 1, 2}) {
        const GradcheckReport report = gradcheck(
            [k](std::span<const Var> v) {
                const auto [a, b] = polar(v[0], v[1]);
                return k == 0 ? a : k == 1 ? b : a * b;
            },
            x);
        CHECK_MESSAGE(report.ok, report.failure);
    }
}

TEST_CASE("a wrong derivative is caught, by its value and by its shape") {
    const Tensor x[] = {normal(4, {3})};
    const auto wrong = custom(
        "wrong", [](const Tensor& t) { return tanh(t); },
        [](auto& c) { c.give(0, c.g() * (1.0 - c.out())); });
    CHECK_FALSE(gradcheck([&](std::span<const Var> v) { return wrong(v[0]); }, x).ok);
    const auto misshapen = custom(
        "misshapen", [](const Tensor& t) { return tanh(t); },
        [](auto& c) { c.give(0, sum(c.g())); });
    Tape tape;
    const Var v = tape.watch(x[0]);
    try {
        tape.gradient(sum(misshapen(v)), {v});
        FAIL("no error");
    } catch (const ShapeError& e) {
        CHECK(std::string(e.what()) ==
              "[misshapen] the cotangent of input 0 is f64(), where f64(3) is needed");
    }
}

TEST_CASE("a derivative of values only has no second order, and says so") {
    const auto rough = custom(
        "rough", [](const Tensor& t) { return tanh(t); },
        [](Vjp<Tensor>& c) { c.give(0, c.g() * (1.0 - square(c.out()))); });
    Tape tape;
    const Var x = tape.watch(normal(5, {3}));
    CHECK(tape.gradient(sum(rough(x)), {x}, retain)[0].count() == 3);
    CHECK_THROWS_AS(tape.gradient(sum(rough(x)), {x}, create_graph), TapeError);
}

TEST_CASE("what the lambdas capture lives as long as the recording, and the name longer") {
    auto counter = std::make_shared<int>(0);
    const std::weak_ptr<int> watch = counter;
    Tape tape;
    const Var x = tape.watch(normal(6, {2}));
    Var y;
    {
        const auto scaled = custom(
            std::string("scaled"), [](const Tensor& t) { return t * 2.0; },
            [counter](auto& c) { ++*counter, c.give(0, c.g() * 2.0); });
        y = scaled(x);
        counter.reset();
    }
    CHECK(tape.gradient(sum(y), {x})[0].to_vector<double>() == std::vector<double>{2, 2});
    CHECK(*watch.lock() == 1);
    CHECK(std::string(tape.operation(0).name) == "scaled");
    tape.reset();
    CHECK(watch.expired());
}

TEST_CASE("what a derivative allocates by itself is booked under its name") {
    const auto held = custom(
        "held", [](const Tensor& x) { return x + 1; },
        [](auto& c) {
            using X = std::decay_t<decltype(c.g())>;
            c.give(0, X(Tensor::zeros(c.g().shape())));
        });
    Tape tape;
    const Var x = tape.watch(Tensor::zeros({1 << 19}));
    const auto g = tape.gradient(sum(held(x)), {{x}});
    size_t booked = 0;
    for (const OperationMemory& m : memory_by_operation())
        if (m.operation == "held") booked = m.live;
    CHECK(booked >= size_t{2} << 20);  // 2^19 f32
}
