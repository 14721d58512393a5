// Graphs for the tests of graph attention, and its definition as a double loop.
#pragma once

#include <cmath>
#include <random>
#include <vector>

#include "attention/graph/graph_attention.h"
#include "engine/random.h"

namespace graph_tests {

using namespace mercer;
using Ids = std::vector<int64_t>;

/// About `degree` edges into each node, some twice, none into or out of every seventh; unsorted.
inline Graph random_graph(int64_t nodes, int64_t degree, unsigned seed) {
    std::mt19937 random(seed);
    Ids sources, targets;
    for (int64_t k = 0; k < nodes * degree; ++k) {
        const auto i = int64_t(random() % unsigned(nodes)), j = int64_t(random() % unsigned(nodes));
        if (i % 7 == 3 || j % 7 == 3) continue;
        targets.push_back(i), sources.push_back(j);
    }
    return Graph::from_edges(Tensor::from(sources), Tensor::from(targets), nodes);
}

struct Operands {
    Tensor h, source, target;

    Operands(int64_t n, int64_t heads, int64_t width, uint64_t seed = 1)
        : h(randn(Key{seed, 1}, {n, heads, width}, DType::f64)),
          source(randn(Key{seed, 2}, {heads, width}, DType::f64)),
          target(randn(Key{seed, 3}, {heads, width}, DType::f64)) {}
};

/// LeakyReLU(a_target·h_i + a_source·h_j) of head `head`.
inline double score(const Operands& x, int64_t i, int64_t j, int64_t head, double slope) {
    const int64_t H = x.h.size(1), F = x.h.size(2);
    const double *h = x.h.data<double>(), *s = x.source.data<double>(),
                 *t = x.target.data<double>();
    long double u = 0;
    for (int64_t f = 0; f < F; ++f) {
        u += static_cast<long double>(t[head * F + f]) * h[(i * H + head) * F + f];
        u += static_cast<long double>(s[head * F + f]) * h[(j * H + head) * F + f];
    }
    return double(u >= 0 ? u : slope * u);
}

/// The definition; keep: a factor for each weight (e, H), or empty.
inline std::vector<double> naive(const Operands& x, const Graph& graph, double slope = 0.2,
                                 const std::vector<double>& keep = {}) {
    const int64_t n = x.h.size(0), H = x.h.size(1), F = x.h.size(2);
    const Ids at = graph.offsets().to_vector<int64_t>(),
              from = graph.sources().to_vector<int64_t>();
    const double* h = x.h.data<double>();
    std::vector<double> out(size_t(n * H * F), 0);
    for (int64_t i = 0; i < n; ++i)
        for (int64_t head = 0; head < H; ++head) {
            long double total = 0;
            for (int64_t k = at[size_t(i)]; k < at[size_t(i) + 1]; ++k)
                total +=
                    std::exp(static_cast<long double>(score(x, i, from[size_t(k)], head, slope)));
            for (int64_t k = at[size_t(i)]; k < at[size_t(i) + 1]; ++k) {
                const int64_t j = from[size_t(k)];
                const long double share =
                    std::exp(static_cast<long double>(score(x, i, j, head, slope))) / total *
                    (keep.empty() ? 1 : keep[size_t(k * H + head)]);
                for (int64_t f = 0; f < F; ++f)
                    out[size_t((i * H + head) * F + f)] +=
                        double(share * h[(j * H + head) * F + f]);
            }
        }
    return out;
}

}  // namespace graph_tests
