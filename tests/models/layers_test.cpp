// Layers against plain loops in double over the same parameters.
#include <doctest/doctest.h>

#include <cmath>
#include <set>

#include "autograd/functions.h"
#include "engine/error.h"
#include "models/tasks/series_regression.h"

using namespace mercer;

namespace {

using Matrix = std::vector<std::vector<double>>;

Matrix rows(const Tensor& x) {
    const auto flat = x.to_vector<double>();
    const auto width = size_t(x.shape().back());
    Matrix out(flat.size() / width);
    for (size_t i = 0; i < flat.size(); ++i) out[i / width].push_back(flat[i]);
    return out;
}

Matrix linear(const Linear& layer, const Matrix& x) {
    const Matrix w = rows(layer.weight);
    const auto b = layer.bias.to_vector<double>();
    Matrix out(x.size(), b);
    for (size_t i = 0; i < x.size(); ++i)
        for (size_t k = 0; k < w.size(); ++k)
            for (size_t j = 0; j < b.size(); ++j) out[i][j] += x[i][k] * w[k][j];
    return out;
}

Matrix layer_norm(const LayerNorm& layer, Matrix x) {
    const auto gain = layer.gain.to_vector<double>(), bias = layer.bias.to_vector<double>();
    for (auto& row : x) {
        double mean = 0, var = 0;
        for (const double v : row) mean += v / double(row.size());
        for (const double v : row) var += (v - mean) * (v - mean) / double(row.size());
        for (size_t j = 0; j < row.size(); ++j)
            row[j] = (row[j] - mean) / std::sqrt(var + layer.epsilon) * gain[j] + bias[j];
    }
    return x;
}

// weights: heads × n rows of n, when wanted
Matrix attention(const Attention& layer, const Matrix& x, Matrix* weights = nullptr) {
    const Matrix q = linear(layer.query, x), k = linear(layer.key, x), v = linear(layer.value, x);
    const size_t n = x.size(), width = q[0].size(), heads = size_t(layer.heads), d = width / heads;
    Matrix mixed(n, std::vector<double>(width, 0));
    for (size_t h = 0; h < heads; ++h) {
        for (size_t i = 0; i < n; ++i) {
            std::vector<double> w(n);
            double total = 0;
            for (size_t j = 0; j < n; ++j) {
                double dot = 0, distance = 0;
                for (size_t c = h * d; c < (h + 1) * d; ++c) {
                    dot += q[i][c] * k[j][c];
                    distance += (q[i][c] - k[j][c]) * (q[i][c] - k[j][c]);
                }
                const bool is_rbf = std::string(layer.smoother.kernel.name) == "rbf";
                w[j] = std::exp((is_rbf ? -distance : dot) / std::sqrt(double(d)));
                total += w[j];
            }
            for (size_t j = 0; j < n; ++j) {
                w[j] /= total;
                for (size_t c = h * d; c < (h + 1) * d; ++c) mixed[i][c] += w[j] * v[j][c];
            }
            if (weights) weights->push_back(w);
        }
    }
    return linear(layer.output, mixed);
}

Matrix plus(Matrix a, const Matrix& b) {
    for (size_t i = 0; i < a.size(); ++i)
        for (size_t j = 0; j < a[i].size(); ++j) a[i][j] += b[i][j];
    return a;
}

Matrix relu(Matrix x) {
    for (auto& row : x)
        for (double& v : row) v = v > 0 ? v : 0;
    return x;
}

double distance(const Tensor& x, const Matrix& expected) {
    const Matrix found = rows(x);
    REQUIRE(found.size() == expected.size());
    double worst = 0;
    for (size_t i = 0; i < found.size(); ++i) {
        REQUIRE(found[i].size() == expected[i].size());
        for (size_t j = 0; j < found[i].size(); ++j)
            worst = std::max(worst, std::abs(found[i][j] - expected[i][j]));
    }
    return worst;
}

// Away from their initial ones and zeros.
void disturb(LayerNorm& layer, Key key) {
    layer.gain = uniform(key.split(0), layer.gain.shape(), DType::f32, 0.5, 1.5);
    layer.bias = randn(key.split(1), layer.bias.shape());
}

constexpr double f32 = 2e-6;

}  // namespace

TEST_CASE("linear") {
    const Linear layer(7, 5, Key{1});
    const Tensor x = randn(Key{2}, {9, 7});
    CHECK(distance(layer.forward({}, x).value(), linear(layer, rows(x))) < f32);
    for (const double w : layer.weight.to_vector<double>())
        CHECK(std::abs(w) <= 1 / std::sqrt(7.0));
    for (const double b : layer.bias.to_vector<double>()) CHECK(std::abs(b) <= 1 / std::sqrt(7.0));
    CHECK(layer.weight.to_vector<double>() != Linear(7, 5, Key{2}).weight.to_vector<double>());
}

TEST_CASE("layer norm") {
    LayerNorm layer(33);
    disturb(layer, Key{3});
    const Tensor x = randn(Key{4}, {6, 33}) * 3.0 + 5.0;
    CHECK(distance(layer.forward({}, x).value(), layer_norm(layer, rows(x))) < 4 * f32);
    // A constant row: 0 / √ε, not 0/0.
    const Tensor flat = Tensor::full({1, 33}, 4);
    CHECK(distance(layer.forward({}, flat).value(), {layer.bias.to_vector<double>()}) < f32);
}

TEST_CASE("attention and its weights") {
    for (const SmootherOptions& smoother :
         {SmootherOptions{.kernel = dot_product()}, SmootherOptions{.kernel = rbf()}}) {
        for (const int64_t heads : {1, 2, 4}) {
            const Attention layer(8, heads, smoother, Key{5});
            const Tensor x = randn(Key{6}, {11, 8});
            Matrix weights;
            const Matrix expected = attention(layer, rows(x), &weights);
            CAPTURE(heads);
            CHECK(distance(layer.forward({}, x).value(), expected) < f32);
            const Tensor found = layer.weights({}, x).value();
            CHECK(found.shape() == Shape{heads, 11, 11});
            CHECK(distance(found, weights) < f32);
        }
    }
    CHECK_THROWS_AS(Attention(8, 3, {}, Key{0}), ValueError);
    CHECK_THROWS_AS(Attention(8, 0, {}, Key{0}), ValueError);
}

TEST_CASE("encoder layer") {
    EncoderLayer layer(8, 12, 2, {.kernel = rbf()}, Key{7});
    disturb(layer.attention_norm, Key{8});
    disturb(layer.output_norm, Key{9});
    const Tensor x = randn(Key{10}, {5, 8});
    const Matrix mixed =
        layer_norm(layer.attention_norm, plus(rows(x), attention(layer.attention, rows(x))));
    const Matrix fed = relu(linear(layer.narrow, relu(linear(layer.widen, mixed))));
    CHECK(distance(layer.forward({}, x).value(), layer_norm(layer.output_norm, plus(mixed, fed))) <
          8 * f32);
}

TEST_CASE("parameters have different names and are all there") {
    SeriesTransformer model(4, {}, Key{11});
    const Parameters all = model.parameters();
    std::set<std::string> names;
    for (size_t i = 0; i < all.size(); ++i) names.insert(all.name(i));
    CHECK(names.size() == all.size());
    CHECK(names.contains("encoder.attention.query.weight"));
    // 3·64 + 64, four of 64² + 64, two LayerNorms, two of 64² + 64, 64 + 1
    CHECK(all.count() == 256 + 4 * 4160 + 2 * 128 + 2 * 4160 + 65);

    Parameters twice;
    Linear layer(2, 2, Key{1});
    layer.collect(twice, "a.");
    CHECK_THROWS_AS(layer.collect(twice, "a."), ValueError);
}

TEST_CASE("a binding watches parameters; without one they are constants") {
    Linear layer(3, 2, Key{1}), frozen(3, 2, Key{2});
    Parameters parameters;
    layer.collect(parameters, "");
    const Tensor x = randn(Key{3}, {4, 3});
    CHECK(layer.forward({}, x).is_constant());

    Tape tape;
    const Binding at(tape, parameters);
    CHECK(!layer.forward(at, x).is_constant());
    CHECK(frozen.forward(at, x).is_constant());
    const auto gradients = tape.gradient(sum(layer.forward(at, x)), at.vars());
    REQUIRE(gradients.size() == 2);
    CHECK(gradients[0].shape() == Shape{3, 2});
    CHECK(gradients[1].to_vector<double>() == std::vector<double>{4, 4});
}

TEST_CASE("every parameter of the model gets a gradient") {
    for (const Kernel& kernel : {dot_product(), rbf()}) {
        SeriesTransformer model(2, {.kernel = kernel}, Key{12});
        const Parameters parameters = model.parameters();
        Tape tape;
        const Binding at(tape, parameters);
        const Var output = model.forward(at, randn(Key{13}, {20, 3}));
        const auto gradients = tape.gradient(sum(square(output)), at.vars());
        for (size_t i = 0; i < gradients.size(); ++i) {
            CAPTURE(parameters.name(i));
            const bool cancels = parameters.name(i) == "encoder.attention.key.bias" &&
                                 std::string(kernel.name) == "dot_product";
            // A bias of the keys adds the same to a whole row of the dot products, which the
            // quotient cancels.
            if (!cancels) CHECK(max(abs(gradients[i])).item<double>() > 1e-6);
        }
    }
}

TEST_CASE("snapshots are copies") {
    Linear layer(3, 2, Key{1});
    Parameters parameters;
    layer.collect(parameters, "");
    const auto before = layer.weight.to_vector<float>();
    const auto kept = parameters.snapshot();
    layer.weight.fill(7);
    CHECK(kept[0].to_vector<float>() == before);
    parameters.restore(kept);
    CHECK(layer.weight.to_vector<float>() == before);
    CHECK_THROWS_AS(parameters.restore(std::span(kept).first(1)), ShapeError);
}
