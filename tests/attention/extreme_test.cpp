// Attributes and scores at the far ends of their types.
#include <doctest/doctest.h>

#include <cmath>
#include <limits>

#include "attention/smoother/reference.h"
#include "autograd/functions.h"
#include "engine/error.h"
#include "engine/random.h"

using namespace mercer;

namespace {

const Tensor q = randn(Key{3, 1}, {6, 4}, DType::f64), k = randn(Key{3, 2}, {6, 4}, DType::f64),
             v = randn(Key{3, 3}, {6, 3}, DType::f64);

Tensor filtered(const Filter& filter) {
    SmootherOptions options;
    options.filter = filter;
    return attend(Var(q), Var(k), Var(v), options).value();
}
double apart(const Tensor& a, const Tensor& b) {
    REQUIRE(a.shape() == b.shape());
    return max(abs(a - b)).item<double>();
}

}  // namespace

TEST_CASE("filters whose attributes are as large as may be") {
    constexpr int64_t most = std::numeric_limits<int64_t>::max();
    const Tensor all = filtered(full());
    for (const int64_t far : {int64_t{1} << 61, (int64_t{1} << 62) + 1, most}) {
        CAPTURE(far);
        CHECK(apart(filtered(causal(far)), all) == 0);
        CHECK(apart(filtered(strided(far)), filtered(causal(0))) < 1e-15);
        CHECK(max(abs(filtered(causal(-far)))).item<double>() == 0);
        CHECK_THROWS_AS(fixed_summary(2, far, 4), ValueError);
    }
}

TEST_CASE("entmax's alpha is looked at, whichever way attention goes") {
    for (const double alpha : {0.5, 0.0, -1.0, 1e7, 1e300, double(INFINITY), double(NAN)}) {
        SmootherOptions options;
        options.normaliser = entmax_weights(Var(Tensor::full({}, alpha, DType::f64)));
        CAPTURE(alpha);
        CHECK_THROWS_AS(attend(Var(q), Var(k), Var(v), options), ValueError);
        CHECK_THROWS_AS(smoother_weights(Var(q), Var(k), options), ValueError);
    }
}

TEST_CASE("visible scores far below zero are not lost to hidden ones") {
    const Tensor one = Tensor::from(std::vector<double>{1, 0}, Shape{1, 2}),
                 keys = Tensor::from(std::vector<double>{-3e30, 0, -3e30, 1, 5, 5}, Shape{3, 2});
    SmootherOptions options;
    options.filter = padding(Tensor::from(std::vector<int64_t>{2}, Shape{1}));
    options.normaliser = sparsemax_weights();
    const auto w = smoother_weights(Var(unsqueeze(one, 0)), Var(unsqueeze(keys, 0)), options)
                       .value()
                       .to_vector<double>();
    CHECK((w[0] == 0.5 && w[1] == 0.5 && w[2] == 0));
}

TEST_CASE("positions without heads add no axis") {
    SmootherOptions options;
    options.position = alibi(1);
    CHECK(attend(Var(q), Var(k), Var(v), options).shape() == Shape{6, 3});
    options.position =
        Grid{Var(randn(Key{3, 4}, {2, 4}, DType::f64)), Var(randn(Key{3, 5}, {3, 4}, DType::f64))};
    CHECK(attend(Var(q), Var(k), Var(v), options).shape() == Shape{6, 3});
    CHECK(smoother_weights(Var(q), Var(k), options).shape() == Shape{6, 6});
}
