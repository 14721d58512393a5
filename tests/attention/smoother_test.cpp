// The smoother in reference form: Def. 1 by a naive double loop, golden numbers, properties,
// derivatives.
#include <doctest/doctest.h>

#include <cmath>
#include <limits>

#include "attention/smoother/reference.h"
#include "autograd/functions.h"
#include "autograd/gradcheck.h"
#include "autograd/tape.h"
#include "engine/error.h"
#include "engine/random.h"

using namespace mercer;

namespace {

Tensor sample(uint64_t stream, const Shape& shape) {
    return randn(Key{11, stream}, shape, DType::f64);
}

double largest(const Tensor& t) { return max(abs(t)).item<double>(); }

struct Named {
    const char* name;
    Kernel kernel;
    double (*k)(const double* q, const double* x, int d);
};

double distance2(const double* q, const double* x, int d) {
    double s = 0;
    for (int i = 0; i < d; ++i) s += (q[i] - x[i]) * (q[i] - x[i]);
    return s;
}

const std::vector<Named>& kernels() {
    static const std::vector<Named> list{
        {"dot_product", dot_product(),
         [](const double* q, const double* x, int d) {
             double s = 0;
             for (int i = 0; i < d; ++i) s += q[i] * x[i];
             return std::exp(s / std::sqrt(double(d)));
         }},
        {"rbf", rbf(),
         [](const double* q, const double* x, int d) {
             return std::exp(-distance2(q, x, d) / std::sqrt(double(d)));
         }},
        {"nadaraya_watson", nadaraya_watson(0.7), [](const double* q, const double* x, int d) {
             return std::exp(-distance2(q, x, d) / (2 * 0.49));
         }}};
    return list;
}

}  // namespace

TEST_CASE("golden numbers G1: the dot product is rbf times magnitude") {
    const Tensor q = Tensor::from(std::vector<double>{1, -2, .5, 3}, {1, 4}),
                 k = Tensor::from(std::vector<double>{.5, 1, -1, 2}, {1, 4});
    const double dot = log_weights(q, k).value().item<double>();
    CHECK(dot == doctest::Approx(2).epsilon(1e-15));  // ⟨q, k⟩/√4
    CHECK(std::exp(dot) == doctest::Approx(7.38905609893065).epsilon(1e-13));
    // rbf leaves out −‖q‖²/√d; with it, exp(−12.5/2), and S0's similarity is its square root
    const double rbf_log = log_weights(q, k, {.kernel = rbf()}).value().item<double>() - 14.25 / 2;
    CHECK(std::exp(rbf_log / 2) == doctest::Approx(.04393693362340742).epsilon(1e-12));
}

TEST_CASE("golden number G12: Nadaraya–Watson with a Gaussian") {
    const Tensor x = Tensor::from(std::vector<double>{0, 1, 2, 3}, {4, 1}),
                 y = Tensor::from(std::vector<double>{0, 2, 1, 3}, {4, 1});
    const Tensor at = Tensor::from(std::vector<double>{1.4}, {1, 1});
    CHECK(attend(at, x, y, {.kernel = nadaraya_watson(.8)}).item<double>() ==
          doctest::Approx(1.4710568125561654).epsilon(1e-14));
}

TEST_CASE("equals the definition's double loop, every kernel and filter") {
    const int64_t tq = 5, tk = 7, d = 3, width = 2;
    const Tensor q = sample(1, {2, tq, d}), k = sample(2, {2, tk, d}),
                 v = sample(3, {2, tk, width});
    const std::vector<double> qs = q.to_vector<double>(), ks = k.to_vector<double>(),
                              vs = v.to_vector<double>();
    for (const Named& named : kernels())
        for (const auto& [filter, offset] : std::vector<std::pair<Filter, int64_t>>{
                 {full(), 1000}, {causal(0), 0}, {causal(tk - tq), tk - tq}}) {
            const std::vector<double> got =
                attend(q, k, v, {.kernel = named.kernel, .filter = filter})
                    .value()
                    .to_vector<double>();
            for (int64_t b = 0; b < 2; ++b)
                for (int64_t i = 0; i < tq; ++i)
                    for (int64_t c = 0; c < width; ++c) {
                        double z = 0, out = 0;
                        for (int64_t j = 0; j < tk && j <= i + offset; ++j) {
                            const double w = named.k(&qs[size_t((b * tq + i) * d)],
                                                     &ks[size_t((b * tk + j) * d)], int(d));
                            z += w;
                            out += w * vs[size_t((b * tk + j) * width + c)];
                        }
                        CHECK_MESSAGE(got[size_t((b * tq + i) * width + c)] ==
                                          doctest::Approx(out / z).epsilon(1e-12),
                                      named.name);
                    }
        }
}

TEST_CASE("a linear smoother: rows sum to one, constants are kept, outputs lie in the hull") {
    const Tensor q = sample(4, {6, 4}), k = sample(5, {9, 4}), v = sample(6, {9, 3});
    for (const Named& named : kernels()) {
        const SmootherOptions options{.kernel = named.kernel, .filter = full()};
        CHECK(largest(sum(smoother_weights(q, k, options).value(), {-1}) - 1.0) < 1e-14);
        CHECK(largest(attend(q, k, Tensor::full({9, 3}, 2.5, DType::f64), options).value() - 2.5) <
              1e-14);
        const Tensor out = attend(q, k, v, options).value();
        CHECK(largest(relu(out - max(v, {0}, true))) < 1e-14);
        CHECK(largest(relu(min(v, {0}, true) - out)) < 1e-14);
    }
}

TEST_CASE(
    "order: full attention is equivariant, causal attention is not, but blind to the order of its "
    "past") {
    const Tensor x = sample(7, {6, 4}),
                 turn = Tensor::from(std::vector<int64_t>{2, 0, 1, 3, 5, 4}, {6, 1});
    const Tensor moved = gather(x, turn, 0);
    for (const Named& named : kernels()) {
        const auto self = [&](const Tensor& t, Filter filter) {
            return attend(t, t, t, {.kernel = named.kernel, .filter = filter}).value();
        };
        CHECK(largest(self(moved, full()) - gather(self(x, full()), turn, 0)) < 1e-13);
        const Tensor before = self(x, causal()), after = self(moved, causal());
        CHECK(largest(after - gather(before, turn, 0)) > 1e-3);
        CHECK(largest(slice(after, 0, 3, 4) - slice(before, 0, 3, 4)) <
              1e-13);  // item 3 sees the same set
    }
}

TEST_CASE("causal: the future changes nothing, and gets no gradient") {
    const Tensor q = sample(8, {5, 3}), k = sample(9, {5, 3}), v = sample(10, {5, 2});
    for (const Named& named : kernels()) {
        Tape tape;
        const Var keys = tape.watch(k), values = tape.watch(v);
        const Var out = attend(q, keys, values, {.kernel = named.kernel, .filter = causal()});
        const auto [dk, dv] = tape.gradient(sum(slice(out, 0, 0, 3)), {keys, values});
        CHECK(largest(slice(dk, 0, 3, 5)) == 0);
        CHECK(largest(slice(dv, 0, 3, 5)) == 0);
    }
}

TEST_CASE("a row that sees nothing is zero, with zero gradient") {
    Tape tape;
    const Var q = tape.watch(sample(11, {3, 2})), k = tape.watch(sample(12, {3, 2})),
              v = tape.watch(sample(13, {3, 2}));
    const Var out = attend(q, k, v, {.kernel = dot_product(), .filter = causal(-1)});
    CHECK(largest(slice(out.value(), 0, 0, 1)) == 0);
    const auto [dq, dk, dv] = tape.gradient(sum(out), {q, k, v});
    CHECK(largest(slice(dq, 0, 0, 1)) == 0);
    for (const Tensor& g : {dq, dk, dv}) CHECK(std::isfinite(largest(g)));
}

TEST_CASE("derivatives of first and second order, the bandwidth's too") {
    const Tensor inputs[] = {sample(14, {2, 3, 2}), sample(15, {2, 3, 2}), sample(16, {2, 3, 2}),
                             Tensor::scalar(0.8, DType::f64)};
    for (const Named& named : kernels())
        for (const Filter& filter : {full(), causal()}) {
            const GradcheckReport r = gradcheck(
                [&](std::span<const Var> x) {
                    return attend(x[0], x[1], x[2], {.kernel = named.kernel, .filter = filter});
                },
                std::span(inputs, 3));
            CHECK_MESSAGE(r.ok, named.name, r.failure);
        }
    const GradcheckReport r = gradcheck(
        [](std::span<const Var> x) {
            return attend(x[0], x[1], x[2], {.kernel = nadaraya_watson(x[3])});
        },
        inputs);
    CHECK_MESSAGE(r.ok, r.failure);
}

TEST_CASE("errors") {
    const Tensor q = sample(1, {3, 2}), k = sample(2, {4, 2}), v = sample(3, {4, 2});
    CHECK_THROWS_AS(attend(q, k, v, {.filter = causal()}), ShapeError);
    CHECK_THROWS_AS(attend(q, sample(2, {4, 3}), v), ShapeError);
    CHECK_THROWS_AS(attend(q, k, q), ShapeError);
    CHECK_THROWS_AS(attend(q, k, v, {.kernel = nadaraya_watson(0.0)}), ValueError);
}
