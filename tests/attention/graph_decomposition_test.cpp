// Proposition 2 (Song et al. 2021): exp of a graph attention's score is an RBF similarity of the target, one of
// the source, and a magnitude, with a c for each pair.
#include <doctest/doctest.h>

#include "autograd/functions.h"
#include "autograd/gradcheck.h"
#include "tests/attention/graph_support.h"
#include "tests/support/message.h"

using namespace graph_tests;

namespace {

struct Terms {
    double target, source, magnitude;
};

// From vectors of 2F numbers, as the proposition has them.
Terms terms(const Operands& x, int64_t i, int64_t j, int64_t head, double c) {
    const int64_t H = x.h.size(1), F = x.h.size(2);
    long double dq = 0, dk = 0, a2 = 0, q2 = 0, k2 = 0;
    for (int64_t f = 0; f < 2 * F; ++f) {
        const bool first = f < F;
        const int64_t at = f % F;
        const double a = first ? x.target.data<double>()[head * F + at]
                               : x.source.data<double>()[head * F + at],
                     q = first ? x.h.data<double>()[(i * H + head) * F + at] : 0,
                     k = first ? 0 : x.h.data<double>()[(j * H + head) * F + at];
        dq += (q - c * a) * (q - c * a);
        dk += (c * a - k) * (c * a - k);
        a2 += c * a * c * a, q2 += q * q, k2 += k * k;
    }
    return {double(-dq / 2), double(-dk / 2), double((2 * a2 + q2 + k2) / 2)};
}

}  // namespace

TEST_CASE("the product of the three is the weight before normalising") {
    int64_t negative = 0, positive = 0;
    for (const unsigned seed : {1u, 2u, 3u})
        for (const double slope : {0.2, 0.0, -0.5, 1.0}) {
            const Graph graph = random_graph(30, 4, seed);
            const Operands x(30, 3, 4, seed);
            const GraphDecomposition d =
                decompose_graph_attention(x.h, x.source, x.target, graph, {.slope = slope});
            const auto from = graph.sources().to_vector<int64_t>(),
                       to = graph.targets().to_vector<int64_t>();
            const auto c = d.c.to_vector<double>(), target = d.target.value().to_vector<double>(),
                       source = d.source.value().to_vector<double>(),
                       magnitude = d.magnitude.value().to_vector<double>();
            REQUIRE(int64_t(c.size()) == graph.edges() * 3);
            for (size_t e = 0; e < c.size(); ++e) {
                const int64_t i = to[e / 3], j = from[e / 3], head = int64_t(e % 3);
                const double u = score(x, i, j, head, 1), expected = score(x, i, j, head, slope);
                CHECK(c[e] == (u >= 0 ? 1 : slope));
                (u >= 0 ? positive : negative) += 1;
                const Terms t = terms(x, i, j, head, c[e]);
                CHECK(std::abs(target[e] - t.target) < 1e-12 * (1 - t.target));
                CHECK(std::abs(source[e] - t.source) < 1e-12 * (1 - t.source));
                CHECK(std::abs(magnitude[e] - t.magnitude) < 1e-12 * (1 + t.magnitude));
                // Of exponentials too, relative to what cancels in their logarithms.
                const double product =
                    std::exp(target[e]) * std::exp(source[e]) * std::exp(magnitude[e]);
                CHECK(std::abs(product / std::exp(expected) - 1) < 1e-12 * (1 + t.magnitude));
            }
        }
    CHECK(negative > 100);
    CHECK(positive > 100);
}

TEST_CASE("golden number G4, on the positive branch and on the negative") {
    const Graph graph(Tensor::from(Ids{0, 1, 1}), Tensor::from(Ids{1}));
    Operands x(2, 1, 3);
    x.h = Tensor::from(std::vector<double>{1, -.5, 2, .3, .8, -1}, {2, 1, 3});
    x.target = Tensor::from(std::vector<double>{.2, -.3, .5}, {1, 3});
    x.source = Tensor::from(std::vector<double>{.1, .4, -.6}, {1, 3});
    const auto sum = [&](const Operands& at) {
        const auto d = decompose_graph_attention(at.h, at.source, at.target, graph);
        return (d.target + d.source + d.magnitude).item<double>();
    };
    CHECK(sum(x) == doctest::Approx(2.3).epsilon(1e-14));
    x.source = -x.source;
    x.target = -x.target;
    CHECK(sum(x) == doctest::Approx(-2.3 * 0.2).epsilon(1e-14));
}

TEST_CASE("at exactly 0 the branch is that of c = 1") {
    const Graph graph(Tensor::from(Ids{0, 1}), Tensor::from(Ids{0}));
    const Tensor h = Tensor::from(std::vector<double>{1, 1}, {1, 1, 2}),
                 a = Tensor::from(std::vector<double>{1, -1}, {1, 2});
    CHECK(decompose_graph_attention(h, a, a, graph).c.item<double>() == 1);
}

TEST_CASE("what cancels in the softmax: not c") {
    // The normalised product of the three is α; without ‖c a‖² it is not.
    const Graph graph = random_graph(20, 5, 5);
    const Operands x(20, 2, 3, 5);
    const GraphDecomposition d = decompose_graph_attention(x.h, x.source, x.target, graph);
    const Tensor alpha = graph_attention_weights(x.h, x.source, x.target, graph).value();
    const auto normalised = [&](const Var& log) {
        return max(abs(segment_softmax(log, graph.offsets()).value() - alpha)).item<double>();
    };
    CHECK(normalised(d.target + d.source + d.magnitude) < 1e-12);
    const double a2 = 1;  // any constant cancels
    CHECK(normalised(d.target + d.source + d.magnitude - a2) < 1e-12);
    CHECK(normalised(d.target + d.source + d.magnitude - square(d.c)) > 1e-3);
}

TEST_CASE("its derivatives") {
    const Graph graph = random_graph(6, 3, 6);
    const Operands x(6, 2, 2, 6);
    const Tensor inputs[] = {x.h, x.source, x.target};
    const GradcheckReport report = gradcheck(
        [&](std::span<const Var> at) {
            const auto d = decompose_graph_attention(at[0], at[1], at[2], graph);
            return d.target * 0.3 + d.source * d.magnitude;
        },
        inputs, {.second_tolerance = 1e-6, .step = 1e-4});
    CHECK_MESSAGE(report.ok, report.failure);
    CHECK(message_of([&] { decompose_graph_attention(x.h, x.source, x.h, graph); }) != "accepted");
}
