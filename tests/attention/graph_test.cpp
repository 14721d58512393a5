// The structure of a graph, and the errors of malformed lists.
#include <doctest/doctest.h>

#include "engine/error.h"
#include "tests/attention/graph_support.h"
#include "tests/support/message.h"

using namespace graph_tests;

namespace {

Ids list(const Tensor& t) { return t.to_vector<int64_t>(); }

}  // namespace

TEST_CASE("rows by target, and by source") {
    const Graph g =
        Graph::from_edges(Tensor::from(Ids{2, 0, 1, 2, 0}), Tensor::from(Ids{1, 0, 1, 3, 1}), 4);
    CHECK(g.nodes() == 4);
    CHECK(g.edges() == 5);
    CHECK(list(g.offsets()) == Ids{0, 1, 4, 4, 5});
    CHECK(list(g.sources()) == Ids{0, 2, 1, 0, 2});
    CHECK(list(g.targets()) == Ids{0, 1, 1, 1, 3});
    CHECK(list(g.original()) == Ids{1, 0, 2, 4, 3});
    CHECK(list(g.by_source_offsets()) == Ids{0, 2, 3, 5, 5});
    CHECK(list(g.by_source()) == Ids{0, 3, 2, 1, 4});
    CHECK(list(g.by_source_targets()) == Ids{0, 1, 1, 1, 3});
    const Graph same(g.offsets(), g.sources());
    CHECK(list(same.by_source()) == list(g.by_source()));
    CHECK(list(same.original()) == Ids{0, 1, 2, 3, 4});
}

TEST_CASE("self loops are added where they lack, once") {
    const Graph g(Tensor::from(Ids{0, 2, 2, 3}), Tensor::from(Ids{0, 1, 0})),
        l = g.with_self_loops();
    CHECK(list(l.offsets()) == Ids{0, 2, 3, 5});
    CHECK(list(l.sources()) == Ids{0, 1, 1, 0, 2});
    CHECK(list(l.original()) == Ids{0, 1, -1, 2, -1});
    CHECK(l.sources().raw() == g.with_self_loops().sources().raw());
    CHECK(l.sources().raw() == l.with_self_loops().sources().raw());
    const Graph none(Tensor::from(Ids{0}), Tensor::from(Ids{}));
    CHECK(none.with_self_loops().nodes() == 0);
}

TEST_CASE("a graph keeps its own lists") {
    Tensor offsets = Tensor::from(Ids{0, 1, 1}), sources = Tensor::from(Ids{1});
    const Graph g(offsets, sources);
    offsets.fill(0);
    sources.fill(0);
    CHECK(list(g.offsets()) == Ids{0, 1, 1});
    CHECK(list(g.sources()) == Ids{1});
}

TEST_CASE("malformed lists are named") {
    const auto rows = [](const Ids& offsets, const Ids& sources) {
        return message_of([&] { Graph(Tensor::from(offsets), Tensor::from(sources)); });
    };
    CHECK(rows({0, 1, 1}, {1}) == "accepted");
    CHECK(rows({}, {}) ==
          "[graph] offsets must have one entry more than there are segments, got none");
    CHECK(rows({0, 2, 1}, {1}) == "[graph] offsets must ascend, but offsets[2] = 1 comes after 2");
    CHECK(rows({0, 1, 2}, {1}) ==
          "[graph] offsets must go from 0 to the number of rows, 1; they go from 0 to 2");
    CHECK(rows({0, 1, 1}, {2}) == "[graph] sources[0] = 2 is outside [0, 2)");
    CHECK(rows({0, 1, 1}, {-1}) == "[graph] sources[0] = -1 is outside [0, 2)");
    CHECK_THROWS_AS(Graph(Tensor::from({0, 1}), Tensor::from(Ids{0})), DTypeError);
    CHECK(message_of([] {
              Graph(Tensor::from(Ids{0, 1}), Tensor::from({0}));
          }) == "[graph] sources must be i64, got f32; use cast");
    const auto edges = [](const Ids& sources, const Ids& targets, int64_t n) {
        return message_of(
            [&] { Graph::from_edges(Tensor::from(sources), Tensor::from(targets), n); });
    };
    CHECK(edges({0}, {1}, 2) == "accepted");
    CHECK(edges({0}, {2}, 2) == "[graph] targets[0] = 2 is outside [0, 2)");
    CHECK(edges({0, 1}, {1}, 2) ==
          "[graph] sources (2) and targets (1) must have one entry for each edge");
    CHECK(edges({}, {}, -1) == "[graph] the number of nodes is -1");
}
