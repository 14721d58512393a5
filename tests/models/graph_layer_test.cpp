// The layer of graph attention against plain loops; and two of them learn a planted partition.
#include <doctest/doctest.h>

#include <cmath>
#include <random>

#include "autograd/functions.h"
#include "engine/parallel.h"
#include "models/layers/graph_attention.h"
#include "models/training/fit.h"
#include "tests/support/emulated.h"
#include "tests/support/message.h"
#include "tests/support/restore.h"

using namespace mercer;

namespace {

using Ids = std::vector<int64_t>;

// The layer in double, from its definition: edges as a list of sources for each node.
std::vector<double> plain(const GraphAttention& layer, const Tensor& x, std::vector<Ids> edges) {
    const int64_t n = x.size(0), in = x.size(1), H = layer.source.size(0), F = layer.source.size(1),
                  out = layer.options.average ? F : H * F;
    const auto xs = x.to_vector<double>(), w = layer.weight.to_vector<double>(),
               s = layer.source.to_vector<double>(), t = layer.target.to_vector<double>();
    const auto h = [&](int64_t i, int64_t head, int64_t f) {
        double sum = 0;
        for (int64_t c = 0; c < in; ++c)
            sum += xs[size_t(i * in + c)] * w[size_t(c * H * F + head * F + f)];
        return sum;
    };
    std::vector<double> y(size_t(n * out), 0);
    for (int64_t i = 0; i < n; ++i) {
        Ids& row = edges[size_t(i)];
        if (layer.options.self_loops && std::find(row.begin(), row.end(), i) == row.end())
            row.push_back(i);
        for (int64_t head = 0; head < H; ++head) {
            std::vector<double> weight;
            double total = 0;
            for (const int64_t j : row) {
                double u = 0;
                for (int64_t f = 0; f < F; ++f)
                    u += t[size_t(head * F + f)] * h(i, head, f) +
                         s[size_t(head * F + f)] * h(j, head, f);
                weight.push_back(std::exp(u >= 0 ? u : layer.options.slope * u));
                total += weight.back();
            }
            for (size_t k = 0; k < row.size(); ++k)
                for (int64_t f = 0; f < F; ++f)
                    y[size_t(i * out + (layer.options.average ? f : head * F + f))] +=
                        weight[k] / total * h(row[k], head, f) /
                        (layer.options.average ? double(H) : 1);
        }
        for (int64_t c = 0; c < out; ++c) {
            double& to = y[size_t(i * out + c)];
            if (layer.options.bias) to += layer.bias.to_vector<double>()[size_t(c)];
            if (!layer.options.residual) continue;
            if (!layer.residual.defined()) to += xs[size_t(i * in + c)];
            for (int64_t k = 0; layer.residual.defined() && k < in; ++k)
                to += xs[size_t(i * in + k)] *
                      layer.residual.to_vector<double>()[size_t(k * out + c)];
        }
    }
    return y;
}

// Nodes of three kinds; neighbours are mostly of one's own, features are mostly noise.
struct Partition {
    static constexpr int64_t nodes = 150, kinds = 3, features = 6;
    Tensor x = Tensor::empty({nodes, features}), kind;
    Graph graph = make_graph();
    Ids train, validation, test;

    Partition() {
        std::mt19937 random(7);
        std::normal_distribution<float> noise;
        Ids kinds_of;
        for (int64_t i = 0; i < nodes; ++i) {
            kinds_of.push_back(i % kinds);
            for (int64_t c = 0; c < features; ++c)
                x.mutable_data<float>()[i * features + c] = noise(random) + float(c == i % kinds);
            (i < 30 ? train : i < 60 ? validation : test).push_back(i);
        }
        kind = Tensor::from(kinds_of);
    }
    static Graph make_graph() {
        std::mt19937 random(8);
        Ids from, to;
        for (int64_t i = 0; i < nodes; ++i)
            for (int64_t j = 0; j < i; ++j)
                if (random() % 1000 < (i % kinds == j % kinds ? 160u : 12u)) {
                    from.push_back(i), to.push_back(j);
                    from.push_back(j), to.push_back(i);
                }
        return Graph::from_edges(Tensor::from(from), Tensor::from(to), nodes);
    }
    double accuracy(const Var& logits, const Ids& which) const {
        const auto found = argmax(logits.value(), -1).to_vector<int64_t>(),
                   wanted = kind.to_vector<int64_t>();
        double right = 0;
        for (const int64_t i : which) right += found[size_t(i)] == wanted[size_t(i)];
        return right / double(which.size());
    }
};

struct Outcome {
    double accuracy;
    std::vector<double> loss;
};

Outcome learn(const Partition& data, const Graph& graph, int epochs) {
    GraphAttention first(Partition::features, 4, {.heads = 4}, Key{1, 1}),
        second(16, Partition::kinds, {.heads = 2, .average = true}, Key{1, 2});
    Parameters parameters;
    first.collect(parameters, "first.");
    second.collect(parameters, "second.");
    int epoch = 0;
    const auto logits = [&](const Binding& at, double p, Key key) {
        const Var h = elu(first.forward(at, data.x, graph, {p, key.split(0)}));
        return second.forward(at, h, graph, {p, key.split(1)});
    };
    const auto loss_on = [&](const Var& out, const Ids& which) {
        const Tensor rows = Tensor::from(which);
        return cross_entropy(index_select(out, rows, 0), index_select(data.kind, rows, 0));
    };
    const FitResult fitted =
        fit(parameters,
            [&](const Binding& at) -> Evaluation {
                const Key key{2, uint64_t(epoch++)};
                return {loss_on(logits(at, 0.2, key), data.train),
                        loss_on(logits({}, 0, key), data.validation).item<double>()};
            },
            {.epochs = epochs, .lr = 0.02});
    return {data.accuracy(logits({}, 0, {}), data.test), fitted.loss};
}

}  // namespace

TEST_CASE("the layer is its definition: heads joined or averaged, bias, self loops, residual") {
    const Ids offsets{0, 2, 2, 5, 6, 6}, sources{1, 3, 0, 2, 4, 0};
    const Graph graph(Tensor::from(offsets), Tensor::from(sources));
    const std::vector<Ids> edges{{1, 3}, {}, {0, 2, 4}, {0}, {}};
    const Tensor x = randn(Key{3, 1}, {5, 6});
    for (int bits = 0; bits < 16; ++bits)
        for (const int64_t width : {3, 4, 6}) {
            GraphAttention layer(6, width,
                                 {.heads = 2,
                                  .average = (bits & 1) != 0,
                                  .self_loops = (bits & 2) != 0,
                                  .residual = (bits & 4) != 0,
                                  .bias = (bits & 8) != 0,
                                  .slope = 0.3},
                                 Key{4, uint64_t(bits)});
            if (layer.bias.defined()) layer.bias = randn(Key{5, 1}, layer.bias.shape());
            const auto expected = plain(layer, x, edges),
                       found = layer.forward({}, x, graph).value().to_vector<double>();
            REQUIRE(found.size() == expected.size());
            double worst = 0;
            for (size_t k = 0; k < found.size(); ++k)
                worst = std::max(worst, std::abs(found[k] - expected[k]));
            CHECK(worst < 3e-6);
            // R where widths differ only.
            CHECK(layer.residual.defined() == (layer.options.residual && layer.out() != x.size(1)));
            Parameters all;
            layer.collect(all, "g.");
            CHECK(all.size() == size_t(3 + layer.bias.defined() + layer.residual.defined()));
            CHECK(all.name(0) == "g.weight");
        }
    CHECK(message_of([] { GraphAttention(3, 4, {.heads = 0}, Key{}); }) ==
          "[graph_attention] in, width and heads must be 1 or more, got 3, 4 and 0");
}

TEST_CASE("initial weights are Glorot's") {
    const GraphAttention layer(10, 8, {.heads = 4}, Key{9});
    const double bound = std::sqrt(6.0 / 42), largest = max(abs(layer.weight)).item<double>();
    CHECK(largest <= bound);
    CHECK(largest > 0.9 * bound);
    CHECK(max(abs(layer.bias)).item<double>() == 0);
}

TEST_CASE(
    "two layers learn a planted partition, from its edges; the same on any number of threads") {
    const Restore restore;
    const Partition data;
    const int epochs = MERCER_EMULATED ? 30 : 80;
    const Outcome with = learn(data, data.graph, epochs);
    const Ids none(size_t(Partition::nodes) + 1, 0);
    const Outcome without = learn(data, Graph(Tensor::from(none), Tensor::from(Ids{})), epochs);
    MESSAGE("right of nodes not trained on: " << with.accuracy << ", without edges "
                                              << without.accuracy);
    CHECK(with.accuracy >= 0.9);
    CHECK(without.accuracy < with.accuracy - 0.2);
    CHECK(with.loss.back() < 0.5 * with.loss.front());
    set_thread_count(1);
    const Outcome again = learn(data, data.graph, epochs);
    CHECK(again.loss == with.loss);
    CHECK(again.accuracy == with.accuracy);
}
