// Normalised rows, beyond the list of cases: means and variances at the edge of rounding, sums over rows.
#include <doctest/doctest.h>

#include <array>
#include <cmath>
#include <vector>

#include "autograd/functions.h"
#include "autograd/tape.h"
#include "engine/random.h"
#include "tests/support/bits.h"
#include "tests/support/every_isa.h"

using namespace mercer;

TEST_CASE("a constant row is normalised to zeros, whatever its mean rounds to") {
    on_every_isa([] {
        for (const DType dtype : {DType::f32, DType::f64})
            for (const double value : {12345.678, 1000.1, 1e6 + 1. / 3, 1e25})
                for (const int64_t n : {3, 40, 100, 768}) {
                    const Tensor x = Tensor::full({2, n}, value, dtype);
                    const Tensor c = Tensor::full({2, 2, n}, value, dtype);
                    CHECK(max(abs(cast(layer_norm(x), DType::f64))).item<double>() == 0);
                    CHECK(max(abs(cast(group_norm(c, 1), DType::f64))).item<double>() == 0);
                    // x̂ of the gradient too, which is recorded from x: not 1, but 0.
                    Tape tape;
                    const Var v = tape.watch(x);
                    const Tensor u = randn(Key{5, 3}, x.shape(), dtype);
                    const auto [dx] = tape.gradient(sum(layer_norm(v) * Var(u)), {v}, create_graph);
                    const Tensor expected = (u - mean(u, {1}, true)) / std::sqrt(1e-5);
                    CHECK(max(abs(cast(dx.value() - expected, DType::f64))).item<double>() < .01);
                }
    });
}

TEST_CASE("one element far from all others moves no mean, wherever it stands") {
    on_every_isa([] {
        for (const int64_t n : {768, 4096})
            for (const double far : {100., 1e3, 1e5})
                for (const int64_t at : {int64_t{0}, n / 2, n - 1}) {
                    Tensor x = randn(Key{5, 4}, {1, n});
                    x.mutable_data<float>()[at] = float(far);
                    const Tensor y = cast(layer_norm(x), DType::f64);
                    CHECK(std::abs(mean(y).item<double>()) < 1e-7);
                    CHECK(max(abs(y - layer_norm(cast(x, DType::f64)))).item<double>() <
                          2e-4);  // of 64
                }
    });
}

TEST_CASE("a variance of a few last places is not that of its mean's rounding") {
    on_every_isa([] {
        for (const int64_t n : {100, 768, 4096}) {
            Tensor x = Tensor::full({1, n}, 1e6);
            for (int64_t i = 0; i < n; i += 2) x.mutable_data<float>()[i] = 1e6f + .5f;
            const double expected = .25 / std::sqrt(.0625 + 1e-5);
            const Tensor y = cast(layer_norm(x), DType::f64);
            CHECK(max(y).item<double>() == doctest::Approx(expected).epsilon(1e-6));
            CHECK(min(y).item<double>() == doctest::Approx(-expected).epsilon(1e-6));
        }
    });
}

TEST_CASE("gradients of gain and bias are sums over rows, in chunks of any number") {
    for (const int64_t rows : {1, 8, 9, 13, 16, 17, 300}) {
        CAPTURE(rows);
        const Tensor x = randn(Key{1, 7}, {rows, 21}, DType::f64),
                     u = randn(Key{1, 8}, {rows, 21}, DType::f64),
                     gain = randn(Key{1, 9}, {21}, DType::f64);
        const auto run = [&](int64_t from, int64_t to) {
            Tape tape;
            const Var v = tape.watch(slice(x, 0, from, to)), g = tape.watch(gain),
                      b = tape.watch(gain);
            return tape.gradient(layer_norm(v, g, b), {v, g, b},
                                 {.cotangents = {slice(u, 0, from, to)}});
        };
        const auto all = run(0, rows);
        Tensor sums[2] = {Tensor::zeros({21}, DType::f64), Tensor::zeros({21}, DType::f64)};
        for (int64_t r = 0; r < rows; ++r) {
            const auto one = run(r, r + 1);
            CHECK(difference(one[0], slice(all[0], 0, r, r + 1).contiguous()) == "");
            for (size_t k = 0; k < 2; ++k) sums[k] = sums[k] + one[k + 1];
        }
        for (size_t k = 0; k < 2; ++k)
            CHECK(max(abs(sums[k] - all[k + 1])).item<double>() < 1e-13 * double(rows));
    }
}

TEST_CASE("where the variance vanishes, gradients are infinite as the recorded ones are") {
    const auto check = [](int kind, int64_t n, DType dtype) {
        CAPTURE(kind);
        CAPTURE(n);
        // Squares are 0.
        const Tensor x = (randn(Key{3, 5}, {2, 2, n}, dtype) + 2.0) *
                         (dtype == DType::f64 ? 1e-200 : 1e-30),
                     away = kind == 1   ? x
                            : kind == 0 ? x - mean(x, {2}, true)
                                        : x - mean(x, {1, 2}, true),
                     one = Tensor::ones({}, dtype), many = Tensor::ones({kind == 2 ? 2 : n}, dtype);
        // All terms of one sign, so that their sums are infinite, not NaN.
        const Tensor u = where(greater(away, 0), one, -one);
        Tape tape;
        const Var v = tape.watch(x), gain = tape.watch(many), bias = tape.watch(many);
        const Var y = kind == 0   ? layer_norm(v, gain, bias, 0)
                      : kind == 1 ? rms_norm(v, gain, 0) + bias
                                  : group_norm(v, 1, gain, bias, 0);
        const Var loss = sum(y * Var(u));
        const auto recorded = tape.gradient(loss, {v, gain, bias}, create_graph);
        const auto first = tape.gradient(loss, {v, gain, bias});
        for (size_t k = 0; k < 3; ++k) CHECK(difference(first[k], recorded[k].value()) == "");
        CHECK(all(equal(first[0], -INFINITY * u)).item<bool>());
        CHECK(all(equal(first[1], INFINITY)).item<bool>());
    };
    on_every_isa([&] {
        for (const DType dtype : {DType::f32, DType::f64})
            for (const int kind : {0, 1, 2})
                for (const int64_t n : {3, 17, 64}) check(kind, n, dtype);
    });
}

TEST_CASE("gradients of rows whose variance vanishes have the same bits for any register") {
    const auto gradients = [](const Tensor& x, int kind) {
        Tape tape;
        const Var v = tape.watch(x), gain = tape.watch(Tensor::ones({kind == 2 ? 2 : x.size(2)}));
        const Var y = kind == 0   ? layer_norm(v, gain, {}, 0)
                      : kind == 1 ? rms_norm(v, gain, 0)
                                  : group_norm(v, 2, gain, {}, 0);
        return tape.gradient(y, {v, gain}, {.cotangents = {randn(Key{3, 3}, y.shape())}});
    };
    for (const int kind : {0, 1, 2})
        for (const int64_t n : {3, 17, 64}) {
            const Tensor x = (randn(Key{3, 4}, {1, 2, n}) + 2.0) * 1e-30;  // squares are 0
            std::vector<std::array<Tensor, 2>> all;
            on_every_isa([&] { all.push_back(gradients(x, kind)); });
            for (const auto& each : all)
                for (size_t k = 0; k < 2; ++k) CHECK(difference(each[k], all[0][k]) == "");
        }
}
