// jvp, hvp, Jacobian and Hessian against closed forms and each other.
#include "autograd/derivatives.h"

#include <doctest/doctest.h>

#include <cmath>
#include "autograd/functions.h"
#include "autograd/tape.h"
#include "engine/error.h"
#include "engine/random.h"

using namespace mercer;

namespace {
Tensor normal(uint64_t n, const Shape& shape) { return randn(Key{7, n}, shape, DType::f64); }
double distance(const Tensor& a, const Tensor& b) { return max(abs(a - b)).item<double>(); }
}  // namespace

TEST_CASE("the Hessian of xᵀAx/2 + eᵇˣ") {
    const Tensor root = normal(1, {4, 4}), b = normal(2, {4}), x = normal(3, {4});
    const Tensor a = matmul(root, transpose(root));
    const auto f = [&](const Var& v) {
        const Var row = reshape(v, {1, 4});
        return sum(matmul(row, a) * row) * 0.5 + exp(sum(b * v));
    };
    const double e = std::exp(sum(b * x).item<double>());
    const Tensor expected = a + reshape(b, {4, 1}) * reshape(b, {1, 4}) * e;
    CHECK(distance(hessian(f, x), expected) < 1e-12);
    const Tensor v = normal(4, {4});
    CHECK(distance(hvp(f, x, v), reshape(matmul(expected, reshape(v, {4, 1})), {4})) < 1e-12);
}

TEST_CASE("the Jacobian of a layer, and jvp along a direction") {
    const Tensor w = normal(5, {3, 2}), x = normal(6, {5, 3}), v = normal(7, {5, 3});
    const auto f = [&](const Var& at) { return tanh(matmul(at, w)); };
    const Tensor j = jacobian(f, x);
    REQUIRE(j.shape() == Shape{5, 2, 5, 3});
    const Tensor y = f(x).value();
    for (int64_t r = 0; r < 5; ++r)
        for (int64_t c = 0; c < 2; ++c)
            for (int64_t s = 0; s < 5; ++s)
                for (int64_t k = 0; k < 3; ++k) {
                    const double yy = y.data<double>()[r * 2 + c],
                                 expected =
                                     r == s ? (1 - yy * yy) * w.data<double>()[k * 2 + c] : 0;
                    CHECK(j.data<double>()[((r * 2 + c) * 5 + s) * 3 + k] ==
                          doctest::Approx(expected).epsilon(1e-13));
                }
    const Jvp along = jvp(f, x, v);
    CHECK(distance(along.value, y) == 0);
    const Tensor product = matmul(reshape(j, {10, 15}), reshape(v, {15, 1}));
    CHECK(distance(reshape(along.tangent, {10}), reshape(product, {10})) < 1e-13);
}

TEST_CASE("several inputs: blocks, and the same along all of them") {
    const Tensor x[] = {normal(8, {2}), normal(9, {3})}, v[] = {normal(10, {2}), normal(11, {3})};
    const auto f = [](std::span<const Var> at) {
        return sum(at[0]) * sum(square(at[1])) + sum(sin(at[0]));
    };
    const std::vector<Tensor> h = hessian(f, x), hv = hvp(f, x, v);
    REQUIRE(h.size() == 4);
    CHECK(h[1].shape() == Shape{2, 3});
    CHECK(distance(h[2], transpose(h[1])) < 1e-14);
    for (size_t i : {0u, 1u}) {
        Tensor total = Tensor::zeros({x[i].count(), 1}, DType::f64);
        for (size_t k : {0u, 1u})
            total = total + matmul(h[2 * i + k], reshape(v[k], {v[k].count(), 1}));
        CHECK(distance(hv[i], reshape(total, {x[i].count()})) < 1e-13);
    }
    const Jvp along = jvp(f, x, v);
    const std::vector<Tensor> j = jacobian(f, x);
    CHECK(along.tangent.item<double>() ==
          doctest::Approx(sum(j[0] * v[0]).item<double>() + sum(j[1] * v[1]).item<double>()));
}

TEST_CASE("linear and constant functions, and f32") {
    const Tensor x = Tensor::from({1.0f, 2.0f});
    const auto linear = [](const Var& v) { return sum(v * 3.0); };
    const auto constant = [](const Var& v) { return Var(sum(v.value())); };
    CHECK(hessian(linear, x).to_vector<float>() == std::vector<float>(4, 0));
    CHECK(jacobian(linear, x).to_vector<float>() == std::vector<float>{3, 3});
    CHECK(hvp(linear, x, x).to_vector<float>() == std::vector<float>{0, 0});
    CHECK(jvp(linear, x, x).tangent.item<float>() == 9);
    CHECK(jacobian(constant, x).to_vector<float>() == std::vector<float>{0, 0});
    CHECK(hessian(constant, x).to_vector<float>() == std::vector<float>(4, 0));
    CHECK(jvp(constant, x, x).tangent.item<float>() == 0);
    CHECK(hvp(constant, x, x).to_vector<float>() == std::vector<float>{0, 0});
}

TEST_CASE("what does not fit") {
    const Tensor x = normal(12, {2, 2});
    const auto f = [](const Var& v) { return exp(v); };
    CHECK_THROWS_AS(hessian(f, x), ShapeError);
    CHECK_THROWS_AS(hvp(f, x, x), ShapeError);
    CHECK_THROWS_AS(jvp(f, x, normal(13, {2})), ShapeError);
    CHECK_THROWS_AS(jacobian(f, normal(14, {1, 1, 1, 1, 2})), ShapeError);
}
