// map(): formulas of one's own, in an ordinary file and in one listed in mercer_kernels().
#include "autograd/map.h"

#include <doctest/doctest.h>

#include "autograd/functions.h"
#include "autograd/gradcheck.h"
#include "engine/isa.h"
#include "engine/random.h"
#include "tests/support/bits.h"

using namespace mercer;

const PointwiseOp& gated();
const PointwiseOp& four();

namespace {
Tensor sample(uint64_t stream, const Shape& shape, DType dtype = DType::f64) {
    return randn(Key{1, stream}, shape, dtype);
}
}  // namespace

TEST_CASE("a lambda is the composition of its parts, to the bit") {
    const Tensor u = sample(1, {3, 17}), v = sample(2, {17});
    CHECK(difference(map([](auto a, auto b) { return sigmoid(a) * tanh(b); }, u, v),
                     sigmoid(u) * tanh(v)) == "");
    for (Isa isa : available_isas()) {
        set_isa(isa);
        CHECK(difference(map(gated(), u, v), sigmoid(u) * tanh(v)) == "");
    }
}

TEST_CASE("a formula feeds a sum, with the bits of the sum over its stored values") {
    const auto f = [](auto a, auto b, auto c) { return a * b + exp(-c * c); };
    for (const DType dtype : {DType::f32, DType::f64})
        for (const Shape& shape : {Shape{}, Shape{1}, Shape{33}, Shape{3, 70}, Shape{0, 4},
                                   Shape{200, 17}, Shape{37, 1031}}) {
            const Tensor a = sample(1, shape, dtype), b = sample(2, shape, dtype),
                         c = sample(3, {}, dtype);
            CHECK(difference(map_sum(f, a, b, c), sum(map(f, a, b, c))) == "");
            if (shape.rank() != 2) continue;
            const Tensor column = sample(4, {shape[0], 1}, dtype),
                         row = sample(5, {shape[1]}, dtype);
            CHECK(difference(map_sum(f, a, column, row), sum(map(f, a, column, row))) == "");
            const Tensor turned = transpose(sample(6, {shape[1], shape[0]}, dtype));
            CHECK(difference(map_sum(f, turned, b, column), sum(map(f, turned, b, column))) == "");
        }
    const Tensor u = sample(1, {37, 1031}), v = sample(2, {37, 1031});
    for (Isa isa : available_isas()) {
        set_isa(isa);
        CHECK(difference(map_sum(gated(), u, v), sum(sigmoid(u) * tanh(v))) == "");
    }
    const Tensor inputs[] = {sample(1, {3, 5}), sample(2, {5}), sample(3, {3, 1})};
    const GradcheckReport r =
        gradcheck([&](std::span<const Var> x) { return map_sum(f, x[0], x[1], x[2]); }, inputs);
    CHECK_MESSAGE(r.ok, r.failure);
}

TEST_CASE("captures, choices and four arguments") {
    const Tensor x = sample(3, {33});
    const double slope = 0.1;
    const Tensor leaky =
        map([slope](auto a) { return select(a > decltype(a)(0.0), a, a * slope); }, x);
    CHECK(difference(leaky, maximum(x, Tensor::zeros({33}, DType::f64)) +
                                minimum(x, Tensor::zeros({33}, DType::f64)) * 0.1) == "");
    const Tensor a = sample(4, {5}), b = sample(5, {5}), c = sample(6, {5}), d = sample(7, {5});
    CHECK(difference(map(four(), a, b, c, d), a * b + exp(-(c * c)) / (1.0 + d * d)) == "");
}

TEST_CASE("exact first and second derivatives") {
    const Tensor inputs[] = {sample(1, {3, 5}), sample(2, {5}), sample(3, {3, 1}), sample(4, {})};
    for (const GradcheckReport& r :
         {gradcheck(
              [](std::span<const Var> x) {
                  return map([](auto a, auto b) { return sigmoid(a) * tanh(b); }, x[0], x[1]);
              },
              std::span(inputs, 2)),
          gradcheck([](std::span<const Var> x) { return map(gated(), x[0], x[1]); },
                    std::span(inputs, 2)),
          gradcheck([](std::span<const Var> x) { return map(four(), x[0], x[1], x[2], x[3]); },
                    inputs),
          gradcheck(
              [](std::span<const Var> x) {
                  return map([k = 1.5](auto a) { return softplus(a * k) + log1p(a * a) * sin(a); },
                             x[0]);
              },
              std::span(inputs, 1))})
        CHECK_MESSAGE(r.ok, r.failure);
}
