// What works on rows, beyond the list of cases: published numbers, limits, masks, shifts, errors.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "autograd/functions.h"
#include "autograd/tape.h"
#include "engine/error.h"
#include "engine/random.h"
#include "tests/cases.h"
#include "tests/support/bits.h"
#include "tests/support/every_isa.h"

using namespace mercer;

namespace {

constexpr double inf = std::numeric_limits<double>::infinity();

Tensor doubles(const std::vector<double>& x) { return Tensor::from(x); }
Tensor ids(const std::vector<int64_t>& x) { return Tensor::from(x); }

double largest(const Tensor& x) { return max(abs(x)).item<double>(); }
double distance(const Tensor& a, const Tensor& b) { return largest(a - b); }

// f(x), and its gradient from a random cotangent.
template <class F>
std::pair<Tensor, Tensor> value_and_gradient(F f, const Tensor& x) {
    Tape tape;
    const Var v = tape.watch(x), y = f(v);
    const Tensor u = randn(Key{3, 3}, y.shape(), y.dtype());
    return {y.value(), tape.gradient(y, {v}, {.cotangents = {u}})[0]};
}

}  // namespace

TEST_CASE("entmax of four logits, to published digits") {
    const Tensor x = doubles({1, .5, -.2, .9});
    CHECK(distance(sparsemax(x), doubles({8. / 15, 1. / 30, 0, 13. / 30})) < 1e-15);
    CHECK(distance(entmax15(x), doubles({.443395911, .172956010, .004340148, .379307931})) < 1e-9);
    CHECK(distance(entmax(x, doubles({1.3})),
                   doubles({.404063953, .194575723, .047932218, .353428106})) < 1e-9);
    CHECK(distance(entmax(x, doubles({1.5})), entmax15(x)) < 1e-15);
    CHECK(distance(entmax(x, doubles({2})), sparsemax(x)) < 1e-15);
    CHECK(distance(entmax(x, doubles({1})), softmax(x)) < 1e-15);
}

TEST_CASE("entmax of rows of length 0 has an empty gradient, recorded or not") {
    for (const double a : {1., 1.3, 1.5, 3.}) {
        Tape tape;
        const Var x = tape.watch(Tensor::zeros({3, 0}, DType::f64)),
                  alpha = tape.watch(Tensor::full({3, 1}, a, DType::f64));
        const Var y = a == 1.5 ? entmax15(x) : entmax(x, alpha);
        const auto recorded = tape.gradient(sum(y), {x, alpha}, create_graph);
        const auto second = tape.gradient(sum(recorded[0]) + sum(recorded[1]), {x}, retain);
        const auto first = tape.gradient(sum(y), {x, alpha});
        CHECK(difference(recorded[0].value(), x.value()) == "");
        for (const size_t k : {0, 1}) CHECK(difference(first[k], recorded[k].value()) == "");
        CHECK(difference(second[0], x.value()) == "");
    }
}

TEST_CASE("entmax tends to the softmax, and so does its derivative by alpha") {
    const Tensor x = randn(Key{4, 1}, {5, 40}, DType::f64),
                 u = randn(Key{4, 2}, {5, 40}, DType::f64);
    for (const double e : {1e-3, 1e-6, 1e-9, 1e-15})
        CHECK(distance(entmax(x, Tensor::scalar(1 + e, DType::f64)), softmax(x)) <= 2 * e + 1e-15);
    const auto slope = [&](double alpha) {
        Tape tape;
        const Var a = tape.watch(Tensor::scalar(alpha, DType::f64));
        return tape.gradient(sum(entmax(Var(x), a) * Var(u)), {a})[0].item<double>();
    };
    const auto value = [&](double alpha) {
        return sum(entmax(x, Tensor::scalar(alpha, DType::f64)) * u).item<double>();
    };
    const double h = 1e-4,
                 forward = (-3 * value(1) + 4 * value(1 + h) - value(1 + 2 * h)) / (2 * h);
    CHECK(slope(1) == doctest::Approx(forward).epsilon(1e-5));
    for (const double e : {1e-9, 1e-8, 2e-8, 1e-7, 1e-5})
        CHECK(slope(1 + e) == doctest::Approx(slope(1)).epsilon(20 * e + 1e-6));
}

TEST_CASE("entmax above two keeps a weak element's weight and slope to full precision") {
    const auto row = [](const std::vector<double>& x) {
        return Tensor::from(x, {int64_t(x.size())});
    };
    // Two elements that are to have 1 − p and p, a distance apart that says so: dx₁ = −dx₀ = q₀q₁/(q₀ + q₁), q = p^{2−α}.
    for (const auto& [alpha, p] : {std::pair{3.0, 1e-5}, {4.0, 1e-4}, {10.0, 0.01}, {30.0, 0.2}}) {
        const double e = alpha - 1, rest = 1 - p, apart = (std::pow(rest, e) - std::pow(p, e)) / e,
                     q0 = std::pow(rest, 1 - e), q1 = std::pow(p, 1 - e);
        Tape tape;
        const Var x = tape.watch(row({0.0, -apart}));
        const Var y = entmax(x, Tensor::scalar(alpha, DType::f64));
        const auto [dx] = tape.gradient(y, {x}, {.retain = true, .cotangents = {row({0.0, 1.0})}});
        const auto [text] = tape.gradient(y, {x}, CreateGraph{{row({0.0, 1.0})}});
        const double slope = 1 / (1 / q0 + 1 / q1);
        CHECK(y.value().to_vector<double>()[1] == doctest::Approx(p).epsilon(1e-14 / p));
        for (const Tensor& d : {dx, text.value()}) {
            CHECK(d.to_vector<double>()[1] == doctest::Approx(slope).epsilon(1e-12));
            CHECK(d.to_vector<double>()[0] == doctest::Approx(-slope).epsilon(1e-12));
        }
    }
    // The weak element's q overflows; what is left does not. To 150 digits by mpmath.
    Tape tape;
    const Var x = tape.watch(row({1.0, 0.999999, 0.5})),
              y = entmax(x, Tensor::scalar(1e5, DType::f64));
    const auto [dx] = tape.gradient(y, {x}, {.cotangents = {row({1.0, 0.0, 5.0})}});
    CHECK(y.value().to_vector<double>()[1] ==
          doctest::Approx(2.3025916091489434e-5).epsilon(1e-10));
    CHECK(dx.to_vector<double>()[0] == doctest::Approx(9.999869739248927).epsilon(1e-6));
    CHECK(dx.to_vector<double>()[1] == -dx.to_vector<double>()[0]);
}

TEST_CASE("a large shift changes nothing, and what is masked has no weight and no gradient") {
    const auto for_each = [](auto check) {
        check([](const Var& x) { return sparsemax(x); });
        check([](const Var& x) { return entmax15(x); });
        for (const double alpha : {1.0, 1.3, 3.0})
            check([=](const Var& x) { return entmax(x, Tensor::scalar(alpha, x.dtype())); });
    };
    for (const DType dtype : {DType::f32, DType::f64}) {
        const Tensor rows = Tensor::from(std::vector<double>{1, -inf, 2, -inf, -inf, -inf}, {2, 3});
        for_each([&](auto f) {
            for (const double far : {1e30, -1e30, 0x1p20})
                CHECK(difference(f(Var(cast(doubles({far, far, -inf, far}), dtype))).value(),
                                 f(Var(cast(doubles({0, 0, -inf, 0}), dtype))).value()) == "");
            const std::pair<Tensor, Tensor> both = value_and_gradient(f, cast(rows, dtype));
            const std::vector<double> ps = both.first.to_vector<double>(),
                                      gs = both.second.to_vector<double>();
            CHECK(ps[0] + ps[2] == doctest::Approx(1));
            for (const size_t i : {1, 3, 4, 5}) CHECK((ps[i] == 0 && gs[i] == 0));
        });
        const Tensor masked = cast(doubles({-inf, -inf, -inf}), dtype);
        const auto [sums, dsums] =
            value_and_gradient([](const Var& x) { return logsumexp(x, {-1}); }, masked);
        CHECK((sums.item<double>() == -inf && largest(dsums) == 0));
        const auto [log_p, dlog_p] =
            value_and_gradient([](const Var& x) { return log_softmax(x); }, masked);
        CHECK((max(log_p).item<double>() == -inf && largest(dlog_p) == 0));
        const auto of = [&](double a, double b) {
            return logsumexp(cast(doubles({1, a, b}), dtype), {0}).item<double>();
        };
        CHECK(of(inf, -inf) == inf);
        CHECK(std::isnan(of(inf, std::nan(""))));
    }
    // Sixty-fourths: a shift by a power of two is exact.
    const Tensor x = cast(cast(randn(Key{5, 1}, {3, 7}) * 64.0, DType::i64), DType::f32) * 0x1p-6;
    CHECK(difference(cross_entropy(x + 0x1p10, ids({0, 6, 3})), cross_entropy(x, ids({0, 6, 3}))) ==
          "");
}

TEST_CASE("a row's softmax depends on no row beside it") {
    on_every_isa([] {
        for (const DType dtype : {DType::f32, DType::f64})
            for (const int64_t n : {25, 64, 100, 1024, 2048, 2049}) {
                // Up and down by more than an exponential holds.
                const Tensor far = cast(doubles({0, 3000, -3000, 5, 1500, -inf}), dtype),
                             x = randn(Key{6, 1}, {6, n}, dtype) + reshape(far, {6, 1}),
                             y = softmax(x, -1);
                for (int64_t r = 0; r < 6; ++r) {
                    CAPTURE(n);
                    CAPTURE(r);
                    CHECK(difference(slice(y, 0, r, r + 1), softmax(slice(x, 0, r, r + 1), -1)) ==
                          "");
                }
            }
    });
}

TEST_CASE("a smoothed cross entropy knows no shift, in rows of any length") {
    on_every_isa([] {
        for (const DType dtype : {DType::f32, DType::f64})
            for (const int64_t n : {3, 64, 100, 1024, 2049, 5000, 9001}) {
                INFO(n, " logits");
                // Sixty-fourths, rising from block to block: a shift by a power of two is exact.
                const Tensor rise = Tensor::arange(n, DType::f64) * (20.0 / double(n));
                const Tensor x =
                    cast(cast((randn(Key{5, 2}, {2, n}, DType::f64) + rise) * 64.0, DType::i64),
                         dtype) *
                    0x1p-6;
                const auto loss = [](const Tensor& logits) {
                    return cross_entropy(logits, ids({2, 0}), .1);
                };
                CHECK(difference(loss(x), loss(x + 0x1p16)) == "");
                const Tensor wide = cast(x, DType::f64), below = wide - max(wide, {1}, true),
                             log_p = below - log(sum(exp(below), {1}, true));
                const double own = (slice(log_p, 0, 0, 1).to_vector<double>()[2] +
                                    slice(log_p, 0, 1, 2).to_vector<double>()[0]) /
                                   2;
                CHECK(cast(loss(x), DType::f64).item<double>() ==
                      doctest::Approx(-.9 * own - .1 * mean(log_p).item<double>())
                          .epsilon(dtype == DType::f64 ? 1e-14 : 1e-6));
            }
    });
    const double most = std::numeric_limits<double>::max();
    CHECK(cross_entropy(reshape(doubles({most, most}), {1, 2}), ids({1}), .1).item<double>() ==
          doctest::Approx(std::log(2.)));
}

TEST_CASE("what is NaN gives a NaN gradient, not that of some other row") {
    on_every_isa([] {
        for (const DType dtype : {DType::f32, DType::f64}) {
            const Tensor x = cast(doubles({NAN, 1, 2, 0}), dtype);
            for (const bool sparse : {true, false}) {
                Tape tape;
                const Var v = tape.watch(x);
                const auto [dx] =
                    tape.gradient(sparse ? sparsemax(v) : entmax15(v), {v},
                                  {.cotangents = {cast(doubles({1, 2, 3, 4}), dtype)}});
                CHECK(all(isnan(dx)).item<bool>());
            }
        }
    });
}

TEST_CASE("one logit far above the others is found wherever it is in a long row") {
    for (const DType dtype : {DType::f32, DType::f64})
        for (const size_t n : {100, 1024, 1090, 2048, 2113, 3300, 4097, 5000})
            for (const size_t at : {size_t(0), n / 3, n - 66, n - 2, n - 1})
                for (const size_t other : {n / 2, n - 67, n - 3}) {
                    INFO(n, " logits, ", at, " and ", other);
                    std::vector<double> x(n, -5);
                    x[other] = 1000,
                    x[at] = 2000;  // further than exp of their difference can reach
                    const Tensor logits = cast(doubles(x), dtype);
                    CHECK(logsumexp(logits, {-1}).item<double>() == 2000);
                    CHECK(max(log_softmax(logits, -1)).item<double>() == 0);
                    CHECK(max(softmax(logits, -1)).item<double>() == 1);
                }
}

TEST_CASE(
    "rows of −∞ sum to nothing, a NaN among them to NaN, and what follows them counts alone") {
    for (const DType dtype : {DType::f32, DType::f64})
        for (const size_t n : {3, 64, 100, 1030, 5000}) {
            INFO(n, " logits");
            std::vector<double> x(n);
            const auto sum_of = [&] {
                return logsumexp(cast(doubles(x), dtype), {-1}).item<double>();
            };
            on_every_isa([&] {
                std::fill(x.begin(), x.end(), -inf);
                CHECK(sum_of() == -inf);
                x[n / 2] = std::nan("");
                CHECK(std::isnan(sum_of()));
                x[n / 2] = -inf;
                x[n - 1] = -3;
                CHECK(sum_of() == -3);
                x[n - 2] = inf;
                CHECK(sum_of() == inf);
            });
        }
}

TEST_CASE(
    "the logarithm of a sum of exponentials keeps its digits at every fraction of a power of two") {
    constexpr int64_t rows = 4096;
    const Tensor low = cast(Tensor::arange(rows, DType::i64), DType::f32) * (-20.0 / rows);
    std::vector<double> exact = low.to_vector<double>();
    for (double& v : exact) v = std::log1p(std::exp(v));
    for (const DType dtype : {DType::f32, DType::f64})
        for (const int64_t n : {2, 64, 100}) {  // columns of tiles, few numbers, blocks
            const Tensor zeros = Tensor::zeros({rows, 1}, dtype),
                         none = Tensor::full({rows, n - 2}, -inf, dtype),
                         x = concat({cast(unsqueeze(low, 1), dtype), zeros, none}, 1);
            on_every_isa([&] {
                const double error = distance(cast(logsumexp(x, {1}), DType::f64), doubles(exact));
                CHECK(error <= (dtype == DType::f32 ? 1.5 * 0x1p-24 : 1.5 * 0x1p-53));
            });
        }
}

TEST_CASE("a row's weak elements are the exponential's own bits, down to zero") {
    for (const DType dtype : {DType::f32, DType::f64}) {
        const double end = dtype == DType::f32 ? 104 : 746,
                     step = dtype == DType::f32 ? 0.17 : 0.53;
        for (double first = end - 20; first < end + 3; first += step) {
            std::vector<double> x(23, -first);
            for (size_t i = 0; i < x.size(); ++i) x[i] -= double(i % 9) * step / 9;
            x[3] = 0, x[5] = x[21] = -inf;  // the others' sum does not change a 1
            const Tensor row = cast(doubles(x), dtype),
                         column = broadcast_to(reshape(row, {23, 1}), {23, 19}).contiguous();
            on_every_isa([&] {
                CHECK(difference(softmax(row), exp(row)) == "");
                CHECK(difference(segment_softmax(row, ids({0, 23})), exp(row)) == "");
                CHECK(difference(segment_softmax(column, ids({0, 23})), exp(column)) == "");
            });
        }
    }
}

TEST_CASE("fused first derivatives are the recorded ones, on large inputs too") {
    for (const cases::Case& c : cases::large()) {
        const std::string name = c.name.substr(0, c.name.find(' '));
        if (name != "layer_norm" && name != "rms_norm" && name != "logsumexp" && name != "entmax" &&
            name != "log_softmax" && name != "cross_entropy" && name != "softmax" &&
            name != "sparsemax" && name != "entmax15" && name != "embedding" && name != "dropout" &&
            name != "batch_norm" && name != "batch_norm_inference" && name != "group_norm" &&
            name != "huber_loss" && name != "bce_with_logits" && name != "kl_div")
            continue;
        Tape tape;
        std::vector<Var> x;
        for (const Tensor& t : cases::make_inputs(c, DType::f64)) x.push_back(tape.watch(t));
        const Var y = c.f(x);
        const Tensor u = randn(Key{7, 7}, y.shape(), y.dtype());
        const auto fused = tape.gradient(y, x, {.retain = true, .cotangents = {u}});
        const auto recorded = tape.gradient(y, x, CreateGraph{{u}});
        for (size_t k = 0; k < x.size(); ++k)
            CHECK_MESSAGE(
                distance(fused[k], recorded[k].value()) <= 1e-11 * (1 + largest(fused[k])), c.name,
                " input ", k);
    }
}

TEST_CASE("losses ignore rows, embeddings their padding, dropout a share") {
    const auto [rows, table] = value_and_gradient(
        [](const Var& t) {
            return embedding(t, ids({2, 0, 2, 1}), 2);
        },
        randn(Key{6, 1}, {3, 5}));
    CHECK(largest(slice(table, 0, 2, 3)) == 0);
    CHECK(min(abs(slice(table, 0, 0, 2))).item<double>() > 0);
    Tensor x = randn(Key{6, 2}, {2, 3});
    x.mutable_data<float>()[4] = std::nanf("");
    const auto [loss, dx] = value_and_gradient(
        [](const Var& v) {
            return cross_entropy(v, ids({1, -100}));
        },
        x);
    CHECK(std::isfinite(loss.item<double>()));
    CHECK(largest(slice(dx, 0, 1, 2)) == 0);
    const Tensor ones = Tensor::ones({1000, 100}), kept = dropout(ones, 0.25, Key{8, 1});
    CHECK(mean(kept).item<double>() == doctest::Approx(1).epsilon(0.01));
    CHECK(difference(kept, dropout(ones, 0.25, Key{8, 1})) == "");
    CHECK(max(kept).item<double>() == doctest::Approx(1 / 0.75));
}

TEST_CASE(
    "no rows have a gradient, and a loss's parameter may be larger than its dtype's numbers") {
    Tape tape;
    const Var x = tape.watch(Tensor::ones({0, 5})), bias = tape.watch(Tensor::ones({5}));
    const auto [dx, dbias] =
        tape.gradient(layer_norm(x, {}, bias), {x, bias}, {.cotangents = {Tensor::ones({0, 5})}});
    CHECK(dx.shape() == x.shape());
    CHECK(difference(dbias, Tensor::zeros({5})) == "");

    const Var a = tape.watch(Tensor::from({1.0f, 5.0f}));
    const Var loss = huber_loss(a, Tensor::from({0.0f, 1.0f}), 1e39, LossReduction::none);
    CHECK(difference(loss.value(), Tensor::from({0.5f, 8.0f})) == "");
    const auto [da] = tape.gradient(loss, {a}, {.cotangents = {Tensor::ones({2})}});
    CHECK(difference(da, Tensor::from({1.0f, 4.0f})) == "");
    CHECK(std::isfinite(
        bce_with_logits(Tensor::from({2.0f}), Tensor::from({0.0f}), 1e39).item<double>()));
}

TEST_CASE("what is wrong is named") {
    const Tensor x = randn(Key{1, 1}, {2, 3});
    CHECK_THROWS_WITH_AS(cross_entropy(x, ids({0, 3})),
                         "[cross_entropy] class id 3 is outside [0, 3)", ValueError);
    CHECK_THROWS_WITH_AS(nll_loss(x, ids({-100, 3})), "[nll_loss] class id 3 is outside [0, 3)",
                         ValueError);
    CHECK_THROWS_WITH_AS(nll_loss(x, ids({-1, 3})), "[nll_loss] class id -1 is outside [0, 3)",
                         ValueError);
    CHECK_THROWS_AS(nll_loss(Tensor::ones({2, 0}), ids({0, 0})), ValueError);
    CHECK(
        sum(nll_loss(Tensor::ones({2, 0}), ids({-1, -1}), -1, LossReduction::none)).item<float>() ==
        0);
    Tape tape;
    const Var none = tape.watch(Tensor::ones({2, 0}));
    const Var ignored = nll_loss(none, ids({-1, -1}), -1, LossReduction::sum);
    CHECK(tape.gradient(ignored, {none})[0].shape() == Shape{2, 0});
    CHECK_THROWS_WITH_AS(entmax(x, Tensor::ones({2, 3}) * 1.2),
                         "[entmax] alpha (2,3) must broadcast to one for each row, (2,1)",
                         ShapeError);
    CHECK_THROWS_AS(cross_entropy(x, ids({0})), ShapeError);
    CHECK_THROWS_AS(cross_entropy(x, x), DTypeError);
    CHECK_THROWS_AS(cross_entropy(x, ids({0, 1}), 1.0), ValueError);
    CHECK_THROWS_AS(layer_norm(x, Tensor::ones({2})), ShapeError);
    CHECK_THROWS_AS(layer_norm(x, Tensor::ones({3}, DType::f64)), DTypeError);
    CHECK_THROWS_AS(entmax(x, Tensor::scalar(0.5)), ValueError);
    CHECK_THROWS_AS(dropout(x, 1, Key{}), ValueError);
    CHECK_THROWS_AS(embedding(x, ids({2})), ValueError);
    CHECK_THROWS_AS(fenchel_young(x, Tensor::ones({3})), ShapeError);
    for (const double alpha : {1.0, 1.5, 1.7, 2.0})
        CHECK_THROWS_AS(fenchel_young(Tensor::zeros({3, 0}), Tensor::zeros({3, 0}), alpha),
                        ShapeError);
    CHECK(fenchel_young(Tensor::zeros({0, 3}), Tensor::zeros({0, 3}), 2, LossReduction::none)
              .shape() == Shape{0});
}
