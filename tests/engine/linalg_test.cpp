// Errors, blocks and batches of linear algebra; its values and derivatives are in tests/cases/linalg.cpp.
#include <doctest/doctest.h>

#include <limits>

#include "engine/error.h"
#include "engine/functions.h"
#include "engine/ops/linalg.h"
#include "engine/random.h"
#include "tests/support/message.h"

using namespace mercer;

namespace {

double largest(const Tensor& x) { return max(abs(cast(x, DType::f64))).item<double>(); }

}  // namespace

TEST_CASE("residuals of large factorisations are a few eps") {
    for (const int64_t n : {63, 64, 65, 200, 513}) {
        const Tensor x = randn(Key{5, uint64_t(n)}, {n, n}, DType::f64);
        const Tensor a = matmul(x, transpose(x)) + identity(n, DType::f64) * double(n),
                     b = randn(Key{6, 1}, {n, 3}, DType::f64);
        const double eps = std::numeric_limits<double>::epsilon() * double(n), scale = largest(a);
        const Tensor l = cholesky(a);
        CHECK(largest(matmul(l, transpose(l)) - a) < eps * scale);
        CHECK(largest(matmul(x, solve(x, b)) - b) < 1e4 * eps * largest(b));
        CHECK(largest(matmul(a, solve_spd(a, b)) - b) < 10 * eps * largest(b));
        CHECK(largest(matmul(a, inverse(a)) - identity(n, DType::f64)) < 100 * eps);
        const auto [values, v] = eigh(a);
        CHECK(largest(matmul(v * values, transpose(v)) - a) < 4 * eps * scale);
        CHECK(largest(matmul(transpose(v), v) - identity(n, DType::f64)) < 4 * eps);
        CHECK(std::abs(logdet(a).item<double>() - sum(log(values)).item<double>()) <
              1e-10 * double(n));
    }
}

TEST_CASE("what is wrong is named") {
    const Tensor eye = identity(3, DType::f32), bad = -eye;
    CHECK(message_of([&] { cholesky(bad); }).find("not positive definite") != std::string::npos);
    CHECK(message_of([&] {
              cholesky(stack(std::vector{eye, eye, bad}, 0));
          }).find("matrix 2 of the batch") != std::string::npos);
    CHECK_THROWS_AS(cholesky(eye * std::numeric_limits<double>::quiet_NaN()), NumericalError);
    CHECK_THROWS_AS(eigh(eye * std::numeric_limits<double>::infinity()), NumericalError);
    CHECK_THROWS_AS(inverse(Tensor::zeros({3, 3})), NumericalError);
    CHECK_THROWS_AS(solve(Tensor::zeros({3, 3}), eye), NumericalError);
    CHECK_THROWS_AS(cholesky(Tensor::zeros({3, 4})), ShapeError);
    CHECK(message_of([&] {
              solve(eye, Tensor::zeros({4, 1}));
          }).find("(3,3)") != std::string::npos);
    CHECK_THROWS_AS(solve(eye, Tensor::zeros({3, 1}, DType::f64)), DTypeError);
    CHECK_THROWS_AS(cholesky(Tensor::zeros({2, 2}, DType::i64)), DTypeError);
    CHECK_THROWS_AS(diagonal(Tensor::zeros({2})), ShapeError);
}
