// Hooks on values, gradients and saved tensors.
#include "autograd/hooks.h"

#include <doctest/doctest.h>

#include <map>
#include <string>
#include <utility>

#include "autograd/functions.h"
#include "autograd/tape.h"
#include "engine/error.h"
#include "engine/random.h"
#include "tests/support/bits.h"

using namespace mercer;

namespace {
const Tensor at = Tensor::from(std::vector<double>{0.5, -1, 2});
}

TEST_CASE("a gradient is seen once, when all of it is there") {
    Tape tape;
    const Var x = tape.watch(at);
    const Var h = x * 3.0;
    std::vector<std::string> order;
    std::vector<double> of_h;
    tape.on_gradient(x, [&](const Var&) { return order.push_back("x"), Var(); });
    tape.on_gradient(h, [&](const Var& g) {
        order.push_back("h");
        of_h = g.value().to_vector<double>();
        return Var();
    });
    const Var y = sum(h * h + h);
    tape.gradient(y, {x}, retain);
    CHECK(order == std::vector<std::string>{"h", "x"});
    CHECK(of_h == std::vector<double>{4, -5, 13});
    tape.gradient(y, {h}, retain);  // x is not on the way
    CHECK(order == std::vector<std::string>{"h", "x", "h"});
    tape.gradient(sum(x * 2.0), {h});  // nothing flows to h
    CHECK(order.size() == 3);
}

TEST_CASE("a gradient is replaced, in the middle and at a leaf, by one hook after the other") {
    Tape tape;
    const Var x = tape.watch(at);
    const Var h = x * 3.0;
    tape.on_gradient(h, [](const Var& g) { return clamp(g, -1.0, 1.0); });
    tape.on_gradient(h, [](const Var& g) { return g * 10.0; });
    tape.on_gradient(x, [](const Var& g) { return g + 0.5; });
    const Tensor g = tape.gradient(sum(h * h), {x})[0];
    CHECK(g.to_vector<double>() == std::vector<double>{30.5, -29.5, 30.5});
    tape.on_gradient(x, [](const Var&) { return Var(Tensor::ones({2}, DType::f64)); });
    CHECK_THROWS_AS(tape.gradient(sum(x * x), {x}), ShapeError);
}

TEST_CASE("hooks on gradients work under create_graph, and end with the recording") {
    Tape tape;
    Var x = tape.watch(at);
    tape.on_gradient(x, [](const Var& g) { return g * g; });
    const Var g = tape.gradient(sum(exp(x)), {x}, create_graph)[0];  // e^2x
    const Tensor second = tape.gradient(sum(g), {g})[0];
    CHECK(second.to_vector<double>() == std::vector<double>{1, 1, 1});
    tape.reset();
    x = tape.watch(at);
    CHECK(tape.gradient(sum(x), {x})[0].to_vector<double>() == std::vector<double>{1, 1, 1});
    Tape other;
    CHECK_THROWS_AS(other.on_gradient(x, [](const Var& v) { return v; }), TapeError);
}

TEST_CASE("values are seen as they are recorded, also those of a recorded gradient") {
    Tape tape;
    std::map<std::string, int, std::less<>> seen;
    tape.on_value([&](std::string_view operation, const Var& y) {
        CHECK_FALSE(y.is_constant());
        ++seen[std::string(operation)];
        return Var();
    });
    const Var x = tape.watch(at);
    const Var y = sum(exp(x) * x);
    CHECK(seen == decltype(seen){{"exp", 1}, {"mul", 1}, {"sum", 1}});
    tape.gradient(y, {x}, retain);
    CHECK(seen.size() == 3);
    tape.gradient(y, {x}, create_graph);
    CHECK(seen.size() > 3);
    const size_t kinds = seen.size();
    tape.on_value({});
    seen.clear();
    exp(x);
    CHECK(seen.empty());
    CHECK(kinds > 3);
}

TEST_CASE("a value is replaced; a constant there cuts the gradient") {
    Tape tape;
    const Var x = tape.watch(at);
    tape.on_value([](std::string_view operation, const Var& y) {
        return operation == "exp" ? y * 2.0 : operation == "sin" ? y.detach() : Var();
    });
    const Tensor g = tape.gradient(sum(exp(x)), {x})[0];
    CHECK(max(abs(g - exp(at) * 2.0)).item<double>() == 0);
    CHECK(tape.gradient(sum(sin(x) * x), {x})[0].to_vector<double>() ==
          sin(at).to_vector<double>());
    tape.on_value([](std::string_view, const Var&) { return Var(Tensor::ones({7})); });
    CHECK_THROWS_AS(exp(x), ShapeError);
}

TEST_CASE("saved tensors are kept as one likes") {
    const Tensor wide = randn(Key{5, 1}, {64}, DType::f64);
    Tape plain, tape;
    size_t packed = 0, restored = 0;
    tape.on_saved([&](const Tensor& t) -> RestoreSaved {
        if (t.count() < 2) return {};  // kept as it is
        ++packed;
        return [&restored, half = cast(t, DType::f32)] {
            ++restored;
            return cast(half, DType::f64);
        };
    });
    const auto f = [](const Var& x) { return sum(exp(x) * sin(x)); };
    const Var a = plain.watch(wide), b = tape.watch(wide);
    const Var ya = f(a), yb = f(b);
    CHECK(packed == 4);  // exp's result, sin's operand, both factors
    CHECK(tape.saved_bytes() == 0);
    CHECK(plain.saved_bytes() == 4 * 64 * 8);
    const Tensor exact = plain.gradient(ya, {a})[0], rounded = tape.gradient(yb, {b}, retain)[0];
    CHECK(restored >= 4);
    CHECK(difference(exact, rounded) != "");
    CHECK(max(abs(exact - rounded)).item<double>() < 1e-5);
    CHECK(difference(rounded, tape.gradient(yb, {b})[0]) == "");
    CHECK_THROWS_AS(tape.gradient(yb, {b}), TapeError);  // dropped
    tape.on_saved([](const Tensor&) { return [] { return Tensor::ones({3}); }; });
    CHECK_THROWS_AS(tape.gradient(sum(exp(b)), {b}), ShapeError);
}

TEST_CASE("a hook may take itself away while it runs") {
    Tape tape;
    const Var x = tape.watch(at);
    const std::string told(100, 't');  // on the heap: gone with the hook
    size_t seen = 0;
    tape.on_value([&tape, &seen, told](std::string_view, const Var&) {
        tape.on_value({});
        return seen += told.size(), Var();
    });
    tape.on_saved([&tape, &seen, told](const Tensor& t) {
        tape.on_saved({});
        seen += told.size();
        return [t] { return t; };
    });
    const Var y = sum(square(x));
    CHECK(seen == 200);
    CHECK(difference(tape.gradient(y, {x})[0], at * 2.0) == "");
}

TEST_CASE("no hook takes its tape away, and none records while a value is saved") {
    Tape tape;
    const Var x = tape.watch(at);
    const Var h = exp(x);
    const Var y = sum(square(h));
    const Tensor g = tape.gradient(y, {x}, retain)[0];
    for (const Var& v : {h, x}) {
        bool armed = true;
        tape.on_gradient(v, [&](const Var&) {
            if (std::exchange(armed, false)) tape.reset();
            return Var();
        });
        CHECK_THROWS_AS(tape.gradient(y, {x}, retain), TapeError);
        CHECK(difference(tape.gradient(y, {x}, retain)[0], g) == "");
    }
    const size_t before = tape.operations();
    tape.on_saved([&](const Tensor& t) {
        exp(x);
        return [t] { return t; };
    });
    CHECK_THROWS_AS(exp(x), TapeError);
    CHECK(tape.operations() == before);
    tape.on_saved({});
    tape.on_value([&](std::string_view, const Var&) { return tape.reset(), Var(); });
    CHECK_THROWS_AS(exp(x), TapeError);
    tape.on_value({});
    CHECK(difference(tape.gradient(y, {x}, retain)[0], g) == "");

    // A pass within a hook that drops what its own pass still needs is told, not read as nothing.
    bool armed = true;
    tape.on_gradient(h, [&](const Var&) {
        if (std::exchange(armed, false)) tape.gradient(sum(h), {x});
        return Var();
    });
    CHECK_THROWS_AS(tape.gradient(y, {x}), TapeError);
    tape.reset();
    CHECK(tape.operations() == 0);
}
