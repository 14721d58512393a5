// Similarity and magnitude: golden numbers G1, the identity (B01), the statistics of rows.
#include "attention/smoother/probes.h"

#include "tests/attention/position_support.h"

using namespace mercer;
using namespace mercer::test;

TEST_CASE("golden numbers G1: similarity and magnitude") {
    const Tensor q = Tensor::from(std::vector<double>{1, -2, .5, 3}, {1, 4}),
                 k = Tensor::from(std::vector<double>{.5, 1, -1, 2}, {1, 4});
    const LogFactors f = similarity_and_magnitude(q, k);
    const double s = std::exp(f.similarity.item<double>()),
                 m = std::exp(f.query.item<double>() + f.key.item<double>());
    CHECK(f.similarity.item<double>() == doctest::Approx(-12.5 / 4).epsilon(1e-15));
    CHECK(s == doctest::Approx(.04393693362340742).epsilon(1e-13));
    CHECK(m == doctest::Approx(168.17414165184545).epsilon(1e-13));
    CHECK(s * m == doctest::Approx(7.38905609893065).epsilon(1e-13));
}

TEST_CASE("B01: similarity times magnitude is the dot product's kernel, by both ways") {
    for (const int64_t d : {1, 2, 8, 33, 64}) {
        const Tensor q = sample(1, {2, 3, 5, d}), k = sample(2, {2, 3, 9, d});
        const LogFactors f = similarity_and_magnitude(q, k);
        const Var one = log_weights(q, k), two = f.similarity + f.query + f.key;
        CHECK(difference(exp(two), exp(one)) < 1e-12);
        // against plain differences, with the length √√d (S0's fourth root)
        const double length = std::pow(double(d), 0.25);
        CHECK(difference(f.similarity, log_weights(q, k, {.kernel = nadaraya_watson(length)})) <
              1e-12);
        // the query's part cancels in a row
        CHECK(difference(softmax(f.similarity + f.key), softmax(one)) < 1e-12);
        CHECK(difference(softmax(f.similarity), smoother_weights(q, k, {rbf_similarity()})) <
              1e-12);
    }
    check_gradients("factors",
                    [](std::span<const Var> x) {
                        const LogFactors f = similarity_and_magnitude(x[0], x[1]);
                        return exp(f.similarity) * f.query + f.key;
                    },
                    {sample(3, {2, 3}), sample(4, {4, 3})});
}

TEST_CASE("B01: rows, by loops over what each query sees") {
    const int64_t batch = 2, heads = 3, d = 5;
    for (const auto& [n, m] : {std::pair<int64_t, int64_t>{150, 150}, {70, 140}, {1, 3}}) {
        const Tensor q = sample(5, {batch, heads, n, d}), k = sample(6, {batch, heads, m, d});
        const At qs(q), ks(k);
        for (const Filter& filter : {full(), causal(m - n - 1),
                                     by_head({window(4, m - n), full()}) &
                                         padding(Tensor::from(std::vector<int64_t>{m, m / 2}))}) {
            const RowProbes got = probe_rows(q, k, filter);
            REQUIRE(got.magnitude.shape() == Shape{batch, heads, n});
            const auto most = got.log_similarity.to_vector<double>(),
                       mean = got.magnitude.to_vector<double>();
            double mean_most = 0, mean_mean = 0, error = 0;
            int64_t counted = 0, r = 0, blind = 0;
            for (int64_t b = 0; b < batch; ++b)
                for (int64_t h = 0; h < heads; ++h)
                    for (int64_t i = 0; i < n; ++i, ++r) {
                        double least = infinity, total = 0;
                        int64_t seen = 0;
                        for (int64_t j = 0; j < m; ++j) {
                            if (filter.rule() && !filter.rule()->sees({b, h, i, j})) continue;
                            double s = 0, a = 0;
                            for (int64_t c = 0; c < d; ++c) {
                                const double x = qs(b, h, i, c), y = ks(b, h, j, c);
                                s += (x - y) * (x - y), a += x * x + y * y;
                            }
                            least = std::min(least, s), total += a, ++seen;
                        }
                        const double root = 2 * std::sqrt(double(d));
                        if (seen == 0) {
                            blind += std::isnan(most[size_t(r)]) && std::isnan(mean[size_t(r)]);
                            --blind;
                            continue;
                        }
                        ++counted;
                        error = std::max({error, std::abs(most[size_t(r)] + least / root),
                                          std::abs(mean[size_t(r)] - total / root / double(seen))});
                        mean_most -= least / root, mean_mean += total / root / double(seen);
                    }
            CHECK(error < 1e-12);
            CHECK(blind == 0);  // every row that sees nothing says NaN
            const LayerProbe layer = probe_layer(q, k, filter);
            CHECK(layer.log_similarity == doctest::Approx(mean_most / double(counted)));
            CHECK(layer.magnitude == doctest::Approx(mean_mean / double(counted)));
        }
    }
    // float32 inputs, ranks without heads, and a key that is the query itself
    const Tensor x = randn(Key{7, 1}, {4, 8});
    const RowProbes self = probe_rows(x, x);
    CHECK(self.magnitude.shape() == Shape{4});
    CHECK(max(self.log_similarity).item<double>() <= 0);
    CHECK(min(self.log_similarity).item<double>() > -1e-13);
    CHECK(difference(probe_rows(unsqueeze(x, 0), unsqueeze(x, 0)).magnitude,
                     unsqueeze(self.magnitude, 0)) == 0);
    CHECK(std::isnan(probe_layer(x, x, causal(-9)).magnitude));
    Tensor bad = x.clone();  // a NaN key, seen last or before others
    for (const int64_t key : {0, 3}) {
        bad.mutable_data<float>()[key * 8] = NAN;
        CHECK(std::isnan(min(probe_rows(x, bad).log_similarity).item<double>()));
        CHECK(std::isnan(max(probe_rows(slice(x, 0, 3, 4), bad).log_similarity).item<double>()));
        bad = x.clone();
    }
    CHECK_THROWS_AS(probe_rows(x, randn(Key{7, 2}, {4, 7})), ShapeError);
    CHECK_THROWS_AS(probe_rows(x, unsqueeze(x, 0)), ShapeError);
    CHECK_THROWS_AS(probe_rows(x, slice(x, 0, 0, 3), causal()), ShapeError);
    CHECK_THROWS_AS(
        probe_rows(reshape(x, {1, 1, 1, 4, 8}), reshape(x, {1, 1, 1, 4, 8}), by_head({causal()})),
        ShapeError);
}
