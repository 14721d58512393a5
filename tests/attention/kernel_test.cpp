// Kernels and normalisers against their formulas in double loops, and the golden numbers.
#include "attention/smoother/kernel.h"

#include <doctest/doctest.h>

#include <cmath>
#include <string>

#include "attention/smoother/reference.h"
#include "autograd/functions.h"
#include "autograd/gradcheck.h"
#include "autograd/tape.h"
#include "engine/error.h"
#include "engine/random.h"

using namespace mercer;

namespace {

using Row = const double*;

double inner(Row q, Row k, int d) {
    double s = 0;
    for (int i = 0; i < d; ++i) s += q[i] * k[i];
    return s;
}
double distance2(Row q, Row k, int d) {
    double s = 0;
    for (int i = 0; i < d; ++i) s += (q[i] - k[i]) * (q[i] - k[i]);
    return s;
}

struct Named {
    std::string name;
    std::function<Kernel(const Var& parameter)> kernel;
    std::function<double(Row q, Row k, int d)> value;  // k itself, with the parameter at `at`
    Tensor at = Tensor::scalar(1, DType::f64);
    bool smooth = true;  // no kink that gradcheck could meet
};

std::vector<Named> all() {
    const Tensor w = randn(Key{61, 1}, {3}, DType::f64);
    const auto fixed = [](Kernel k) { return [k](const Var&) { return k; }; };
    std::vector<Named> out{
        {"dot product", fixed(dot_product()),
         [](Row q, Row k, int d) { return std::exp(inner(q, k, d) / std::sqrt(d)); }},
        {"Luong's dot", fixed(dot_product(1)),
         [](Row q, Row k, int d) { return std::exp(inner(q, k, d)); }},
        {"linear", fixed(linear()), inner},
        {"polynomial 2", fixed(polynomial(2)),
         [](Row q, Row k, int d) { return std::pow(inner(q, k, d), 2); }},
        {"polynomial 3", fixed(polynomial(3, 4.0, 0.5)),
         [](Row q, Row k, int d) { return std::pow(0.5 * inner(q, k, d) + 4, 3); }},
        {"rbf", fixed(rbf()),
         [](Row q, Row k, int d) { return std::exp(-distance2(q, k, d) / std::sqrt(d)); }},
        {"rbf similarity", fixed(rbf_similarity()),
         [](Row q, Row k, int d) { return std::exp(-distance2(q, k, d) / (2 * std::sqrt(d))); }},
        {"expsin", fixed(expsin(1.5)),
         [](Row q, Row k, int d) {
             const double s = std::sin(M_PI * std::sqrt(distance2(q, k, d)) / 1.5),
                          root = std::sqrt(d);
             return std::exp(-2 * s * s / root + (inner(q, q, d) + inner(k, k, d)) / (2 * root));
         }},
        {"cosine", [](const Var& t) { return cosine(t); },
         [](Row q, Row k, int d) {
             return std::exp(2.5 * inner(q, k, d) / std::sqrt(inner(q, q, d) * inner(k, k, d)));
         },
         Tensor::scalar(2.5, DType::f64)},
        {"additive", [](const Var& v) { return additive(v); },
         [w](Row q, Row k, int d) {
             double s = 0;
             for (int h = 0; h < d; ++h) s += w.data<double>()[h] * std::tanh(q[h] + k[h]);
             return std::exp(s);
         },
         w},
        {"one's own, of logs",
         [](const Var& p) { return log_kernel([](auto s, auto c) { return s * tanh(c); }, p); },
         [](Row q, Row k, int d) { return std::exp(inner(q, k, d) * std::tanh(0.4)); },
         Tensor::scalar(0.4, DType::f64)},
        {"one's own, of norms",
         fixed(direct_kernel<Kernel::Norms::both>(
             [](auto s, auto a, auto b) { return (1.0 + s * s) / (1.0 + a * b); })),
         [](Row q, Row k, int d) {
             return (1 + std::pow(inner(q, k, d), 2)) / (1 + inner(q, q, d) * inner(k, k, d));
         }}};
    const auto profile = [&](std::string name, Profile p, bool smooth, double h,
                             std::function<double(double)> of_u) {
        out.push_back({std::move(name), [p](const Var& v) { return nadaraya_watson(p, v); },
                       [=](Row q, Row k, int d) { return of_u(std::sqrt(distance2(q, k, d)) / h); },
                       Tensor::scalar(h, DType::f64), smooth});
    };
    profile("gaussian", Profile::gaussian, true, 0.7,
            [](double u) { return std::exp(-u * u / 2); });
    profile("boxcar", Profile::boxcar, false, 2.5, [](double u) { return u <= 1; });
    profile("triangular", Profile::triangular, true, 4,
            [](double u) { return std::max(0., 1 - u); });
    profile("epanechnikov", Profile::epanechnikov, true, 4,
            [](double u) { return 0.75 * std::max(0., 1 - u * u); });
    profile("biweight", Profile::biweight, true, 4,
            [](double u) { return 15. / 16 * std::pow(std::max(0., 1 - u * u), 2); });
    profile("triweight", Profile::triweight, true, 4,
            [](double u) { return 35. / 32 * std::pow(std::max(0., 1 - u * u), 3); });
    profile("laplace", Profile::laplace, true, 1.3, [](double u) { return std::exp(-u); });
    profile("constant", Profile::constant, true, 1, [](double) { return 1.; });
    return out;
}

constexpr int64_t queries = 5, keys = 7, width = 3, values = 2;
Tensor q() { return randn(Key{60, 1}, {queries, width}, DType::f64); }
Tensor k() { return randn(Key{60, 2}, {keys, width}, DType::f64); }
Tensor v() { return randn(Key{60, 3}, {keys, values}, DType::f64); }

}  // namespace

TEST_CASE("every kernel is Definition 1's quotient of sums, under every kind of filter") {
    const Tensor tq = q(), tk = k(), tv = v();
    const std::vector<std::pair<std::string, Filter>> filters{{"full", full()},
                                                              {"causal", causal(1)},
                                                              {"window", window(3, 2)},
                                                              {"summary", strided_summary(3)}};
    for (const Named& n : all())
        for (const auto& [name, filter] : filters) {
            const Tensor out =
                attend(tq, tk, tv, {.kernel = n.kernel(n.at), .filter = filter}).value();
            double error = 0;
            for (int64_t i = 0; i < queries; ++i) {
                double total = 0, size = 0, sums[values] = {};
                for (int64_t j = 0; j < keys; ++j) {
                    if (filter.rule() && !filter.rule()->sees({0, 0, i, j})) continue;
                    const double w = n.value(tq.data<double>() + i * width,
                                             tk.data<double>() + j * width, int(width));
                    total += w, size += std::abs(w);
                    for (int64_t c = 0; c < values; ++c)
                        sums[c] += w * tv.data<double>()[j * values + c];
                }
                if (total == 0) continue;  // nothing near: another test
                const double condition = size / std::abs(total);
                for (int64_t c = 0; c < values; ++c)
                    error = std::max(
                        error, std::abs(out.data<double>()[i * values + c] - sums[c] / total) /
                                   (condition * condition));
            }
            CHECK_MESSAGE(error < 1e-12, n.name, ", ", name, ": ", error);
        }
}

TEST_CASE("derivatives of first and second order, in parameters too") {
    const Filter f = causal(3);
    for (const Named& n : all()) {
        if (!n.smooth) continue;
        const Tensor inputs[] = {q(), k(), v(), n.at};
        const GradcheckReport report = gradcheck(
            [&](std::span<const Var> x) {
                return attend(x[0], x[1], x[2], {.kernel = n.kernel(x[3]), .filter = f});
            },
            inputs, {.step = n.name == "expsin" ? 2e-4 : 1e-3});
        CHECK_MESSAGE(report.ok, n.name, ": ", report.failure);
    }
}

TEST_CASE("expsin is smooth where query and key meet") {
    const Tensor x[] = {q(), q()};
    const GradcheckReport report = gradcheck(
        [](std::span<const Var> at) { return log_weights(at[0], at[1], {.kernel = expsin(2)}); },
        x);
    CHECK_MESSAGE(report.ok, report.failure);
}

TEST_CASE("expsin is a number for any period and distance") {
    CHECK_THROWS_AS(expsin(1e-16), ValueError);
    CHECK_THROWS_AS(expsin(NAN), ValueError);
    for (const DType dtype : {DType::f32, DType::f64})
        for (const double period : {1e-15, 1e-9, 1e-4, 1e200})
            for (const double size : {1e-12, 1.0, 1e4}) {
                const Tensor x = cast(randn(Key{3, 9}, {5, 7}, DType::f64) * size, dtype),
                             y = concat({x, x * -1.5}, 0);
                Tape tape;
                const Var q = tape.watch(x), k = tape.watch(y);
                const Var logs = log_weights(q, k, {.kernel = expsin(period)});
                const Tensor norms = sum(square(x), {1}, true) +
                                     reshape(sum(square(y), {1}), {1, y.size(0)}),
                             magnitude = norms * (0.5 / std::sqrt(7));
                // −2 sin²(…)/√d, up to the rounding of the magnitude.
                const Tensor rest = logs.value() - magnitude;
                const double eps =
                    (dtype == DType::f64 ? 0x1p-50 : 0x1p-21) * max(norms).item<double>();
                CHECK(max(rest).item<double>() <= eps + 0.02);
                CHECK(min(rest).item<double>() >= -2 / std::sqrt(7) - eps - 1e-6);
                for (const Tensor& g : tape.gradient(sum(logs), {q, k}))
                    CHECK(all(isfinite(g)).item<bool>());
            }
}

TEST_CASE("golden numbers G12: Nadaraya–Watson with every profile") {
    const auto column = [](std::initializer_list<double> x) {
        return Tensor::from(std::vector<double>(x), {int64_t(x.size()), 1});
    };
    const Tensor x = column({0, 1, 2, 3}), y = column({0, 2, 1, 3});
    const auto at = [&](Profile p, double query) {
        return attend(column({query}), x, y, {.kernel = nadaraya_watson(p, .8)}).item<double>();
    };
    CHECK(at(Profile::gaussian, 1.4) == doctest::Approx(1.4710568125561654).epsilon(1e-14));
    CHECK(at(Profile::epanechnikov, 1.4) == doctest::Approx(1.631578947368421).epsilon(1e-14));
    CHECK(at(Profile::boxcar, 1.4) == doctest::Approx(1.5).epsilon(1e-14));
    CHECK(at(Profile::triangular, 1.4) == doctest::Approx(1.6666666666666667).epsilon(1e-14));
    CHECK(at(Profile::biweight, 1.4) == doctest::Approx(1.746113989637306).epsilon(1e-14));
    CHECK(at(Profile::triweight, 1.4) == doctest::Approx(1.8343795267986485).epsilon(1e-14));
    CHECK(at(Profile::laplace, 1.4) == doctest::Approx(1.5067896393700415).epsilon(1e-14));
    CHECK(at(Profile::boxcar, .4) == doctest::Approx(1).epsilon(1e-14));
    CHECK(at(Profile::constant, 1.4) == doctest::Approx(1.5).epsilon(1e-14));
}

TEST_CASE("golden numbers G6: normalisers") {
    // With q = 1 and width 1 the log weights are the keys.
    const Tensor one = Tensor::ones({1, 1}, DType::f64),
                 logits = Tensor::from(std::vector<double>{1, .5, -.2, .9}, {4, 1});
    const auto weights = [&](const Normaliser& n) {
        return smoother_weights(one, logits, {.kernel = dot_product(), .normaliser = n})
            .value()
            .to_vector<double>();
    };
    const auto near = [](const std::vector<double>& a, const std::vector<double>& b) {
        double worst = 0;
        for (size_t i = 0; i < 4; ++i) worst = std::max(worst, std::abs(a[i] - b[i]));
        return worst;
    };
    CHECK(near(weights({}), {.35554768, .21565057, .10708890, .32171285}) < 5e-9);
    CHECK(near(weights(sparsemax_weights()), {8. / 15, 1. / 30, 0, 13. / 30}) < 1e-15);
    CHECK(near(weights(entmax15_weights()), {.443395911, .172956010, .004340148, .379307931}) <
          1e-9);
    CHECK(near(weights(entmax_weights(Tensor::scalar(1.3, DType::f64))),
               {.404063953, .194575723, .047932218, .353428106}) < 1e-9);
}

TEST_CASE("normalisers under filters: probabilities over what is seen, with derivatives") {
    const Tensor inputs[] = {q(), k(), v(), Tensor::scalar(1.7, DType::f64)};
    for (const Filter& f : {full(), causal(-1), window(2, 1)})
        for (int kind = 0; kind < 4; ++kind) {
            const auto options = [&](const Var& alpha) {
                return SmootherOptions{.filter = f,
                                       .normaliser = kind == 0   ? softmax_weights()
                                                     : kind == 1 ? sparsemax_weights()
                                                     : kind == 2 ? entmax15_weights()
                                                                 : entmax_weights(alpha)};
            };
            const Tensor w = smoother_weights(inputs[0], inputs[1], options(inputs[3])).value();
            const Tensor seen = broadcast_to(visible(f, w.shape()), w.shape());
            CHECK(max(abs(where(seen, Tensor::zeros({}, DType::f64), w))).item<double>() == 0);
            const Tensor expected = cast(any(seen, {-1}, false), DType::f64);
            CHECK(max(abs(sum(w, {-1}, false) - expected)).item<double>() < 1e-15);
            const GradcheckReport report = gradcheck(
                [&](std::span<const Var> x) { return attend(x[0], x[1], x[2], options(x[3])); },
                inputs, {.step = 3e-4});
            CHECK_MESSAGE(report.ok, "normaliser ", kind, ": ", report.failure);
        }
}

TEST_CASE("a neighbourhood without keys takes the nearest visible one, and counts") {
    const auto column = [](std::initializer_list<double> x) {
        return Tensor::from(std::vector<double>(x), {int64_t(x.size()), 1});
    };
    const Tensor x = column({0, 1, 2, 3}), y = column({5, 6, 7, 8});
    SmootherReport report;
    SmootherOptions options{.kernel = nadaraya_watson(Profile::epanechnikov, .25),
                            .report = &report};
    CHECK(attend(column({1.4, 2.1, 9}), x, y, options).value().to_vector<double>() ==
          std::vector<double>{6, 7, 8});
    CHECK(report.fallbacks == 2);
    options.filter = window(2);  // the third query sees keys 1 and 2, the first key 0 only
    CHECK(attend(column({1.4, 2.1, 9}), x, y, options).value().to_vector<double>() ==
          std::vector<double>{5, 6, 7});
    options.filter = causal(-1);  // the first query sees nothing: zero, and no fallback
    report = {};
    CHECK(attend(column({1.4, 2.1, 9}), x, y, options).value().to_vector<double>() ==
          std::vector<double>{0, 5, 6});
    CHECK(report.fallbacks == 2);
    Tape tape;
    const Var h = tape.watch(Tensor::scalar(.25, DType::f64)),
              at = tape.watch(column({1.4, 2.1, 9}));
    const auto g = tape.gradient(
        sum(attend(at, x, y, {.kernel = nadaraya_watson(Profile::epanechnikov, h)})), {h, at});
    CHECK(std::isfinite(g[0].item<double>()));
    CHECK(all(isfinite(g[1])).item<bool>());
}

TEST_CASE(
    "a small bandwidth takes the key where the query is; one whose square is none is refused") {
    const Tensor at = Tensor::from({0, 1}, {2, 1}), values = Tensor::from({5, 6}, {2, 1});
    const Tensor wide = cast(at, DType::f64);
    for (const Profile p :
         {Profile::gaussian, Profile::boxcar, Profile::triangular, Profile::epanechnikov,
          Profile::biweight, Profile::triweight, Profile::laplace}) {
        CAPTURE(int(p));
        const auto out = [&](const Tensor& x, double h) {
            return attend(x, x, cast(values, x.dtype()), {.kernel = nadaraya_watson(p, h)}).value();
        };
        for (const auto& [x, h] : {std::pair{at, 2e-19}, std::pair{wide, 1e-23}})
            CHECK(max(abs(cast(out(x, h), DType::f32) - values)).item<float>() < 1e-6f);
        if (p == Profile::triangular || p == Profile::laplace) {  // h itself is all they need
            CHECK_NOTHROW(out(at, 1e-23));
            continue;
        }
        CHECK_THROWS_AS(out(at, 1e-23), ValueError);
        CHECK_THROWS_AS(out(wide, 1e-200), ValueError);
    }
}

TEST_CASE("weights too faint for the reciprocal of their sum are as none") {
    for (const bool recorded : {false, true})
        for (const double size : {1e-300, 1e-320}) {
            CAPTURE(size);
            Tape tape;
            const Tensor y = Tensor::from(std::vector<double>{4, 2}, {2, 1});
            const Var k(Tensor::from(std::vector<double>{size, 3 * size}, {2, 1}));
            Var q(Tensor::ones({1, 1}, DType::f64));
            if (recorded) q = tape.watch(q.value());
            SmootherReport report;
            const SmootherOptions options{.kernel = linear(), .report = &report};
            const double expected = size > 1e-310 ? 2.5 : 2;
            const Var out = attend(q, k, Var(y), options);
            CHECK(out.item<double>() == doctest::Approx(expected).epsilon(1e-14));
            CHECK(
                sum(smoother_weights(q, k, options).value() * reshape(y, {1, 2})).item<double>() ==
                doctest::Approx(expected).epsilon(1e-14));
            CHECK(report.fallbacks == (size > 1e-310 ? 0 : 2));
            if (recorded) CHECK(std::abs(tape.gradient(sum(out), {q})[0].item<double>()) < 1e-14);
        }
}

TEST_CASE("a signed kernel is divided by its signed sum, and says where that is not positive") {
    SmootherReport report;
    const Tensor one = Tensor::ones({1, 1}, DType::f64),
                 x = Tensor::from(std::vector<double>{1, -3}, {2, 1}),
                 y = Tensor::from(std::vector<double>{4, 2}, {2, 1});
    CHECK(attend(one, x, y, {.kernel = linear(), .report = &report}).item<double>() ==
          doctest::Approx((4 - 6) / -2.));
    CHECK(report.nonpositive == 1);
    CHECK(report.fallbacks == 0);

    // Weights that cancel are not weights that are all zero.
    const Tensor ones = Tensor::ones({2, 1}, DType::f64),
                 opposite = Tensor::from(std::vector<double>{1, -1}, {2, 1});
    for (const Filter& filter : {full(), window(2)}) {
        SmootherReport cancelled;
        attend(ones, opposite, y, {.kernel = linear(), .filter = filter, .report = &cancelled});
        CHECK(cancelled.nonpositive > 0);
        CHECK(cancelled.fallbacks == 0);
    }
}

TEST_CASE("what does not fit") {
    CHECK_THROWS_AS(attend(q(), k(), v(), {.kernel = linear(), .normaliser = sparsemax_weights()}),
                    ValueError);
    CHECK_THROWS_AS(attend(q(), k(), v(), {.normaliser = division()}), ValueError);
    CHECK_THROWS_AS(attend(q(), k(), v(), {.normaliser = {Normaliser::Kind::entmax, {}}}),
                    ValueError);
    CHECK_THROWS_AS(log_weights(q(), k(), {.kernel = polynomial(2)}), ValueError);
    CHECK_THROWS_AS(attend(q(), k(), v(), {.kernel = additive(Tensor::ones({4}, DType::f64))}),
                    ShapeError);
    CHECK_THROWS_AS(attend(q(), k(), v(), {.kernel = nadaraya_watson(Profile::boxcar, -1.)}),
                    ValueError);
    CHECK_THROWS_AS(polynomial(0), ValueError);
    CHECK_THROWS_AS(expsin(0), ValueError);
}

TEST_CASE("vectors without elements are all alike, and keys in groups may lack leading axes") {
    const Tensor v = randn(Key{65, 1}, {3, 2}, DType::f64);
    const Tensor none = Tensor::zeros({2, 0}, DType::f64), keys = Tensor::zeros({3, 0}, DType::f64);
    const Tensor average = broadcast_to(mean(v, {0}, true), {2, 2});
    for (const Kernel& kernel : {dot_product(), rbf(), expsin(), cosine()})
        for (const bool fused : {true, false}) {
            INFO(std::string(kernel.name));
            const SmootherOptions options{.kernel = kernel};
            const Tensor out =
                (fused ? attend(none, keys, v, options) : attend_reference(none, keys, v, options))
                    .value();
            CHECK(max(abs(out - average)).item<double>() < 1e-15);
        }
    const Tensor q = randn(Key{65, 2}, {2, 6, 4, 3}, DType::f64),
                 k = randn(Key{65, 3}, {2, 5, 3}, DType::f64),
                 values = randn(Key{65, 4}, {2, 5, 2}, DType::f64);
    const Tensor out = attend(q, k, values).value(), w = smoother_weights(q, k).value();
    CHECK(max(abs(out - attend_reference(q, k, values).value())).item<double>() < 1e-14);
    for (int64_t h = 0; h < 6; ++h)
        CHECK(max(abs(slice(out, 1, h, h + 1) -
                      matmul(slice(w, 1, h, h + 1), slice(values, 0, h / 3, h / 3 + 1))))
                  .item<double>() < 1e-14);
}

TEST_CASE("operands that do not fit are named") {
    const auto message = [](auto f) -> std::string {
        try {
            f();
        } catch (const Error& e) {
            return e.what();
        }
        return "";
    };
    const Tensor x = Tensor::ones({4, 3}), whole = cast(x, DType::i64), wide = cast(x, DType::f64);
    CHECK(message([&] {
              attend(whole, whole, x);
          }).starts_with("[attend] queries and keys must be both f32 or both f64"));
    CHECK(message([&] {
              attend(x, x, wide);
          }).starts_with("[attend] queries and values must be both f32 or both f64"));
    CHECK(message([&] {
              attend(Tensor::ones({2, 4, 3}), Tensor::ones({3, 4, 3}), x);
          }).starts_with("[attend] shapes do not broadcast: (2) with (3)"));
    CHECK(message([&] {
              smoother_weights(x, Tensor::ones({4, 2}));
          }) ==
          "[smoother_weights] queries (4,3) and keys (4,2) need two axes or more, and the same "
          "width");
    CHECK(message([&] {
              rotate_pairs(Tensor::ones({3, 4}, DType::i64), Tensor::arange(3), PairLayout::halves);
          }).starts_with("[rotate_pairs] works on f32 and f64, got i64"));
    const PositionOffset far = int64_t{1} << 60;
    CHECK(message([&] { attend(x, x, x, {.position = alibi(1, far)}); }) ==
          "[alibi] the offset 1152921504606846976 is beyond 2^53 to either side");
}
