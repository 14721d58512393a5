// Scores of the literature on attention, and what they have in common (D05–D10; spec D.3–D.8).
#include <map>

#include "attention/smoother/reference.h"
#include "tests/attention/position_support.h"

using namespace mercer;
using namespace mercer::test;

namespace {

constexpr int64_t batch = 2, tq = 4, tk = 6;

Tensor identity(int64_t d) { return Tensor::eye(d, -1, DType::f64); }

// Luong et al. 2015, Eq. 8: general qᵀWk, concat wᵀ tanh(W [q; k]).
Var general(const Var& q, const Var& k, const Var& weight) {
    return log_weights(matmul(q, weight), k, {.kernel = dot_product(1)});
}
// Bahdanau et al. 2015, A.1.2: wᵀ tanh(W_q q + W_k k).
Var bahdanau(const Var& q, const Var& k, const Var& wq, const Var& wk, const Var& w) {
    return log_weights(matmul(q, wq), matmul(k, wk), {.kernel = additive(w)});
}
// The rows of W belong to q, then to k.
Var concat_score(const Var& q, const Var& k, const Var& weight, const Var& w) {
    const int64_t dq = q.size(-1);
    return bahdanau(q, k, slice(weight, 0, 0, dq), slice(weight, 0, dq, weight.size(0)), w);
}

}  // namespace

TEST_CASE("D05: additive scores, and concat with W = [W_q; W_k] is the same") {
    const int64_t dq = 5, dk = 3, h = 4;
    const Tensor q = sample(1, {batch, tq, dq}), k = sample(2, {batch, tk, dk}),
                 weight = sample(3, {dq + dk, h}), w = sample(4, {h});
    const At qs(unsqueeze(q, 1)), ks(unsqueeze(k, 1)), ws(weight), out_weights(unsqueeze(w, 0));
    // the loop joins [q; k] first
    const Var got = concat_score(q, k, weight, w);
    check_elements(unsqueeze(got, 1), [&](int64_t b, int64_t, int64_t i, int64_t j) {
        double score = 0;
        for (int64_t c = 0; c < h; ++c) {
            double s = 0;
            for (int64_t e = 0; e < dq + dk; ++e)
                s += ws(0, 0, e, c) * (e < dq ? qs(b, 0, i, e) : ks(b, 0, j, e - dq));
            score += out_weights(0, 0, 0, c) * std::tanh(s);
        }
        return score;
    });
    check_gradients(
        "additive",
        [&](std::span<const Var> x) { return softmax(bahdanau(x[0], x[1], x[2], x[3], x[4])); },
        {sample(5, {2, dq}), sample(6, {3, dk}), sample(7, {dq, h}), sample(8, {dk, h}), w});
}

TEST_CASE("D06: Luong's general score; with W = I it is the dot product") {
    const int64_t dq = 5, dk = 3;
    const Tensor q = sample(9, {batch, tq, dq}), k = sample(10, {batch, tk, dk}),
                 weight = sample(11, {dq, dk});
    const At qs(unsqueeze(q, 1)), ks(unsqueeze(k, 1)), ws(weight);
    check_elements(unsqueeze(general(q, k, weight), 1),
                   [&](int64_t b, int64_t, int64_t i, int64_t j) {
                       double s = 0;
                       for (int64_t e = 0; e < dq; ++e)
                           for (int64_t c = 0; c < dk; ++c)
                               s += qs(b, 0, i, e) * ws(0, 0, e, c) * ks(b, 0, j, c);
                       return s;
                   });
    const Tensor same = sample(12, {batch, tk, dq});
    const Var dot = log_weights(q, same, {.kernel = dot_product(1)});
    CHECK(difference(general(q, same, identity(dq)), dot) < 1e-12);
    CHECK(difference(dot, matmul(q, transpose(same))) < 1e-14);
    check_gradients("general",
                    [](std::span<const Var> x) { return softmax(general(x[0], x[1], x[2])); },
                    {sample(13, {2, dq}), sample(14, {3, dk}), weight});
}

TEST_CASE("D07: the variance of <q, k> is d, of the scaled score 1; without, softmax saturates") {
    std::map<int64_t, double> steepness, scaled_steepness, entropies, scaled_entropies;
    for (const int64_t d : {1, 4, 16, 64, 256, 1024}) {
        const int64_t n = 160;  // n² products
        const Tensor q = sample(uint64_t(100 + d), {n, d}), k = sample(uint64_t(200 + d), {n, d});
        const Var raw = log_weights(q, k, {.kernel = dot_product(1)}), scaled = log_weights(q, k);
        const auto variance = [](const Var& x) { return mean(square(x)).item<double>(); };
        // n rows and columns: the error is some √(4/(n·d)) + √(8/n²)
        CHECK(variance(raw) ==
              doctest::Approx(double(d)).epsilon(0.5 / std::sqrt(double(d)) + .05));
        CHECK(variance(scaled) == doctest::Approx(1).epsilon(0.5 / std::sqrt(double(d)) + .05));
        const auto slope = [](const Var& z) {  // ‖∂p_max/∂z‖ of a softmax, mean over rows
            const Tensor p = softmax(z).value(), top = max(p, {-1}, true);
            const Tensor jacobian = top * (cast(equal(p, top), DType::f64) - p);
            return mean(sqrt(sum(square(jacobian), {-1}))).item<double>();
        };
        const auto entropy = [](const Var& z) {
            return -mean(sum(softmax(z) * log_softmax(z), {-1})).item<double>();
        };
        steepness[d] = slope(raw), scaled_steepness[d] = slope(scaled);
        entropies[d] = entropy(raw), scaled_entropies[d] = entropy(scaled);
    }
    CHECK(steepness[1024] < 0.3 * steepness[16]);  // vanishing gradients (F-D2), as 1/√d
    CHECK(scaled_steepness[1024] > 0.5 * scaled_steepness[16]);
    CHECK(entropies[1024] < 0.2);
    CHECK(scaled_entropies[1024] > std::log(160.0) - 1);
    CHECK(scaled_entropies[1024] == doctest::Approx(scaled_entropies[64]).epsilon(0.1));
}

TEST_CASE("D08: the Gaussian score is the dot product's, where keys have one norm") {
    const int64_t d = 16;
    const Tensor q = sample(15, {tq, d}), raw = sample(16, {tk, d}) * 2.0;
    const auto weights_of = [&](const Var& k, const Kernel& kernel) {
        return smoother_weights(q, k, {.kernel = kernel});
    };
    const Var dots = matmul(q, transpose(raw)), norms = sum(square(Var(raw)), {-1}, true);
    // −½‖q − k‖² = ⟨q, k⟩ − ½‖k‖² − ½‖q‖², and the last cancels
    CHECK(difference(weights_of(raw, nadaraya_watson(1.0)),
                     softmax(dots - transpose(norms) * 0.5)) < 1e-12);
    const auto normed = [&](double eps) {
        return layer_norm(Var(raw), Var(Tensor::ones({d}, DType::f64)),
                          Var(Tensor::zeros({d}, DType::f64)), eps);
    };
    const auto apart = [&](const Var& k) {
        return largest(
            (weights_of(k, nadaraya_watson(1.0)) - weights_of(k, dot_product(1))).value());
    };
    CHECK(apart(normed(0)) < 1e-12);
    CHECK(apart(normed(1e-5)) < 1e-5);
    CHECK(apart(normed(1e-5)) > 1e-12);  // ε makes norms differ a little
    CHECK(apart(raw) > 1e-2);
}

TEST_CASE("D09: a longer key wins a dot product, not a cosine") {
    const auto rows = [](std::vector<double> x) {
        return Tensor::from(x, {int64_t(x.size() / 2), 2});
    };
    const Tensor q = rows({1, 1}), k = rows({1, 1, 10, 10, -1, -1});
    const auto dot = smoother_weights(q, k, {.kernel = dot_product(1)}).value().to_vector<double>();
    CHECK(dot[1] > 0.99999);
    const auto cos = smoother_weights(q, k, {.kernel = cosine()}).value().to_vector<double>();
    CHECK(cos[0] == doctest::Approx(cos[1]).epsilon(1e-14));
    CHECK(cos[0] / cos[2] == doctest::Approx(std::exp(2.0)).epsilon(1e-13));
    // of unit vectors the two are one; no scale of a key is felt
    const Tensor qs = sample(17, {tq, 5}), ks = sample(18, {tk, 5}),
                 scale = exp(sample(19, {tk, 1}) * 2.0);
    const auto unit = [](const Tensor& x) { return x / sqrt(sum(square(x), {-1}, true)); };
    const Var w = smoother_weights(qs, ks, {.kernel = cosine(3)});
    CHECK(difference(smoother_weights(unit(qs), unit(ks), {.kernel = dot_product(3)}), w) < 1e-12);
    CHECK(difference(smoother_weights(qs, ks * scale, {.kernel = cosine(3)}), w) < 1e-12);
    CHECK(difference(smoother_weights(qs, ks * scale, {.kernel = dot_product(3)}),
                     smoother_weights(qs, ks, {.kernel = dot_product(3)})) > 1e-2);
}

TEST_CASE("D10: a layer norm's rows have the norm d var/(var + eps)") {
    const int64_t n = 50;
    for (const int64_t d : {2, 16, 257})
        for (const double eps : {0., 1e-5, .3}) {
            const Tensor x =
                sample(uint64_t(300 + d), {n, d}) * exp(sample(20, {n, 1}) * 2.0) + 3.0;
            const Tensor y =
                layer_norm(x, Tensor::ones({d}, DType::f64), Tensor::zeros({d}, DType::f64), eps);
            const Tensor variance = mean(square(x - mean(x, {-1}, true)), {-1});
            const Tensor expected = variance / (variance + eps) * double(d);
            CHECK(largest(sum(square(y), {-1}) / expected - 1.0) < 1e-12);
        }
    check_gradients("layer norm",
                    [](std::span<const Var> x) { return layer_norm(x[0], x[1], x[2], 1e-5); },
                    {sample(21, {3, 5}), sample(22, {5}), sample(23, {5})});
    // random directions are nearly orthogonal: mean |cos| = √(2/(πd))·(1 + O(1/d))
    for (const int64_t d : {64, 1024}) {
        const Tensor a = sample(uint64_t(400 + d), {200, d}),
                     b = sample(uint64_t(500 + d), {200, d});
        const auto unit = [](const Tensor& x) { return x / sqrt(sum(square(x), {-1}, true)); };
        const double found = mean(abs(matmul(unit(a), transpose(unit(b))))).item<double>();
        CHECK(found == doctest::Approx(std::sqrt(2 / (M_PI * double(d)))).epsilon(0.02));
    }
}
