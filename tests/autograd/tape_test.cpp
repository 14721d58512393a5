// Life and death of tapes and Vars; what is kept; higher orders.
#include "autograd/tape.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>

#include <memory>

#include "autograd/functions.h"
#include "autograd/map.h"
#include "engine/error.h"
#include "engine/random.h"
#include "tests/support/bits.h"

using namespace mercer;

namespace {
Tensor numbers(std::initializer_list<float> values) { return Tensor::from(values); }
}  // namespace

TEST_CASE("a gradient, as in the README") {
    Tape tape;
    const Var w = tape.watch(numbers({1, 2, 3}));
    const auto [dw] = tape.gradient(sum(square(w)), {w});
    CHECK(dw.to_vector<float>() == std::vector<float>{2, 4, 6});
}

TEST_CASE("constants cost no tape") {
    Tape tape;
    const Var w = tape.watch(numbers({1}));
    const Var c = exp(Var(numbers({1})));
    CHECK(c.is_constant());
    CHECK(tape.operations() == 0);
    CHECK(w.detach().is_constant());
    CHECK((w + c).is_constant() == false);
    CHECK_THROWS_AS(tape.gradient(c, {w}), TapeError);
    CHECK_THROWS_AS(tape.watch(Tensor::zeros({1}, DType::i64)), DTypeError);
}

TEST_CASE("only what is asked for; zeros where nothing flows") {
    Tape tape;
    const Var a = tape.watch(numbers({1, 2})), b = tape.watch(numbers({3, 4})),
              unused = tape.watch(numbers({5, 6, 7}));
    const Var loss = sum(a * b);
    const auto [da, dz] = tape.gradient(loss, {a, unused});
    CHECK(da.to_vector<float>() == std::vector<float>{3, 4});
    CHECK(dz.to_vector<float>() == std::vector<float>{0, 0, 0});
    const auto [of_middle] = tape.gradient(sum(exp(loss)), {loss});
    CHECK(of_middle.item<float>() == doctest::Approx(std::exp(11.0f)));
}

TEST_CASE("a value used twice, a loss that is a leaf, a given cotangent") {
    Tape tape;
    const Var x = tape.watch(numbers({3}));
    CHECK(tape.gradient(x * x * x, {x}, retain)[0].item<float>() == 27);
    CHECK(tape.gradient(x, {x})[0].item<float>() == 1);
    const Var y = tape.watch(numbers({1, 2}));
    CHECK_THROWS_AS(tape.gradient(y * 2.0, {y}), TapeError);
    CHECK(tape.gradient(y * 2.0, {y}, {.cotangents = {numbers({1, 10})}})[0].to_vector<float>() ==
          std::vector<float>{2, 20});
    CHECK_THROWS_AS(tape.gradient(y * 2.0, {y}, {.cotangents = {numbers({1})}}), ShapeError);
}

TEST_CASE("saved values are dropped on the way, unless retained") {
    Tape tape;
    const Var x = tape.watch(randn(Key{1, 1}, {100}));
    const Var loss = sum(exp(x) * sin(x));
    CHECK(tape.saved_bytes() > 0);
    const Tensor first = tape.gradient(loss, {x}, retain)[0];
    CHECK(difference(first, tape.gradient(loss, {x})[0]) == "");
    CHECK(tape.saved_bytes() == 0);
    CHECK_THROWS_AS(tape.gradient(loss, {x}), TapeError);
}

TEST_CASE("nodes keep only what their derivative reads") {
    Tape tape;
    const Var x = tape.watch(Tensor::zeros({1000}));
    const Var y = x + x;
    CHECK(tape.saved_bytes() == 0);
    const Var z = tanh(y);  // its output
    CHECK(tape.saved_bytes() == 4000);
    const Var s = sum(z * Tensor::ones({1000}));  // the constant; not z
    CHECK(tape.saved_bytes() == 8000);
}

TEST_CASE("a foreign, reset or dead tape, and a value changed in place") {
    Tape tape, other;
    const Var x = tape.watch(numbers({1})), y = other.watch(numbers({1}));
    CHECK_THROWS_AS(x + y, TapeError);
    CHECK_THROWS_AS(tape.gradient(x * x, {y}), TapeError);
    other.reset();
    CHECK_THROWS_AS(y * y, TapeError);
    Var orphan;
    {
        Tape gone;
        orphan = gone.watch(numbers({1}));
    }
    CHECK_THROWS_AS(exp(orphan), TapeError);
    CHECK_THROWS_AS(tape.gradient(orphan, {x}), TapeError);
    Tensor weights = numbers({1, 2});
    const Var w = tape.watch(weights);
    const Var loss = sum(w * w);
    weights.fill(5);
    CHECK_THROWS_AS(tape.gradient(loss, {w}), InPlaceError);
}

TEST_CASE("a tape is reused after reset") {
    Tape tape;
    for (int i = 0; i < 3; ++i) {
        tape.reset();
        const Var x = tape.watch(numbers({float(i)}));
        CHECK(tape.gradient(square(x), {x})[0].item<float>() == 2 * float(i));
        CHECK(tape.operations() == 1);
    }
}

TEST_CASE("higher orders: x⁵ through products, to the fifth") {
    Tape tape;
    const Var x = tape.watch(Tensor::scalar(2, DType::f64));
    Var y = x * x * x * x * x;
    for (double expected : {80., 160., 240., 240., 120.}) {
        y = tape.gradient(y, {x}, create_graph)[0];
        CHECK(y.item<double>() == doctest::Approx(expected).epsilon(1e-14));
    }
}

TEST_CASE("third derivatives of a compiled formula are refused by name") {
    Tape tape;
    const Var x = tape.watch(Tensor::scalar(0.5, DType::f64));
    const Var first = tape.gradient(gelu(x), {x}, create_graph)[0],
              second = tape.gradient(first, {x}, create_graph)[0];
    try {
        tape.gradient(second, {x});
        FAIL("no error");
    } catch (const TapeError& e) {
        CHECK(std::string(e.what()).find("[gelu]") == 0);
    }
}

TEST_CASE("a Hessian-vector product through a layer and a softmax") {
    Tape tape;
    const Var w = tape.watch(randn(Key{3, 1}, {4, 3}, DType::f64));
    const Tensor x = randn(Key{3, 2}, {5, 4}, DType::f64), v = randn(Key{3, 3}, {4, 3}, DType::f64);
    const auto loss_at = [&](const Var& at) { return mean(square(softmax(matmul(x, at)))); };
    const Var g = tape.gradient(loss_at(w), {w}, create_graph)[0];
    const Tensor hv = tape.gradient(sum(g * v), {w})[0];
    const auto gradient_at = [&](const Tensor& at) {
        Tape t;
        const Var p = t.watch(at);
        return t.gradient(loss_at(p), {p})[0];
    };
    const double h = 1e-5;
    const Tensor difference =
        (gradient_at(w.value() + v * h) - gradient_at(w.value() - v * h)) / (2 * h);
    CHECK(max(abs(difference - hv)).item<double>() < 1e-9);
}

TEST_CASE("a hundred thousand nodes, without recursion") {
    Tape tape;
    const Var x = tape.watch(numbers({1}));
    Var y = x;
    for (int i = 0; i < 100000; ++i) y = y + x;
    CHECK(tape.gradient(y, {x})[0].item<float>() == 100001);
}

TEST_CASE("softmax: the fused derivative is the text's") {
    Tape tape;
    const Var x = tape.watch(randn(Key{4, 1}, {9, 33}, DType::f64));
    const Tensor u = randn(Key{4, 2}, {9, 33}, DType::f64);
    const Var y = softmax(x);
    const Tensor fused = tape.gradient(y, {x}, {.retain = true, .cotangents = {u}})[0];
    const Tensor text = tape.gradient(y, {x}, CreateGraph{{u}})[0].value();
    CHECK(max(abs(fused - text)).item<double>() < 1e-15);
}

TEST_CASE("kinks have their stated convention") {
    Tape tape;
    const Var x = tape.watch(numbers({-1, 0, 2}));
    const auto slope = [&](const Var& y) {
        return tape.gradient(sum(y), {x})[0].to_vector<float>();
    };
    CHECK(slope(relu(x)) == std::vector<float>{0, 0, 1});
    CHECK(slope(abs(x)) == std::vector<float>{-1, 0, 1});
    CHECK(slope(maximum(x, Tensor::from({0, 0, 0}))) == std::vector<float>{0, 1, 1});
    CHECK(slope(maximum(Tensor::from({0, 0, 0}), x)) == std::vector<float>{0, 0, 1});
    CHECK(slope(minimum(x, Tensor::from({0, 0, 0}))) == std::vector<float>{1, 1, 0});
    CHECK(slope(max(x * Tensor::from({0, 0, 0}))) == std::vector<float>{0, 0, 0});
    const Var tie = tape.watch(numbers({3, 1, 3}));
    CHECK(tape.gradient(max(tie), {tie})[0].to_vector<float>() == std::vector<float>{0.5, 0, 0.5});
}

TEST_CASE("gelu and its derivative in float32 are within 2^-23 of erfc in double") {
    const int64_t n = 1 << 16;
    Tape tape;
    const Var x = tape.watch(Tensor::arange(n, DType::f32, -16, 32.0 / double(n)));
    const Var y = gelu(x);
    const Tensor g =
        tape.gradient(y, {x}, GradientOptions{.cotangents = {Tensor::ones(y.shape())}})[0];
    double value = 0, slope = 0;
    for (int64_t i = 0; i < n; ++i) {
        const double at = x.value().data<float>()[i], phi = 0.5 * std::erfc(-at / std::sqrt(2.0)),
                     density = std::exp(-at * at / 2) / std::sqrt(2 * M_PI);
        value = std::max(
            value, std::abs(y.value().data<float>()[i] - at * phi) / std::max(std::abs(at), 1e-3));
        slope = std::max(slope, std::abs(g.data<float>()[i] - (phi + at * density)));
    }
    CHECK(value < 0x1p-23);
    CHECK(slope < 0x1p-22);
    const auto edge = gelu(Tensor::from({-INFINITY, INFINITY, NAN, -0.0f})).to_vector<float>();
    CHECK(std::abs(edge[0]) < 1e-30f);
    CHECK(edge[1] == INFINITY);
    CHECK(std::isnan(edge[2]));
    CHECK(std::signbit(edge[3]));
}
