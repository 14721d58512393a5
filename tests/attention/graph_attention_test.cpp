// Graph attention: the fused passes against the definition's double loop and the reference form.
#include <doctest/doctest.h>

#include <limits>

#include "autograd/functions.h"
#include "autograd/gradcheck.h"
#include "autograd/tape.h"
#include "engine/memory.h"
#include "tests/attention/graph_support.h"
#include "tests/support/bits.h"
#include "tests/support/emulated.h"
#include "tests/support/message.h"
#include "tests/support/restore.h"

using namespace graph_tests;

namespace {

struct Results {
    Tensor out, h, source, target;
};

Results run(bool fused, const Operands& x, const Graph& graph, const GraphAttentionOptions& o = {},
            DType dtype = DType::f64) {
    Tape tape;
    const Var h = tape.watch(cast(x.h, dtype)), s = tape.watch(cast(x.source, dtype)),
              t = tape.watch(cast(x.target, dtype));
    const Var out =
        fused ? graph_attention(h, s, t, graph, o) : graph_attention_reference(h, s, t, graph, o);
    const Tensor g = cast(randn(Key{9, 9}, out.shape(), DType::f64), dtype);
    auto [dh, ds, dt] = tape.gradient(out, {h, s, t}, {.cotangents = {g}});
    return {out.value(), dh, ds, dt};
}

double size(const Tensor& x) { return x.count() ? max(abs(x)).item<double>() : 0; }
double distance(const Tensor& a, const Tensor& b) {
    REQUIRE(a.shape() == b.shape());
    return size(cast(a, DType::f64) - b) / std::max(0.5, size(b));
}
double distance(const Results& a, const Results& b) {
    return std::max({distance(a.out, b.out), distance(a.h, b.h), distance(a.source, b.source),
                     distance(a.target, b.target)});
}
double mean_distance(const Tensor& a, const Tensor& b) {
    return b.count() ? std::sqrt(mean(square(cast(a, DType::f64) - b)).item<double>()) /
                           std::max(0.5, size(b))
                     : 0;
}
bool all_finite(const Tensor& x) { return size(x) < std::numeric_limits<double>::infinity(); }

struct Size {
    int64_t nodes, degree, heads, width;
};
std::vector<Size> sizes() {
    std::vector<Size> list{{0, 0, 2, 3},  {1, 3, 1, 1},   {40, 3, 1, 7},  {40, 5, 8, 8},
                           {65, 4, 3, 5}, {40, 2, 17, 2}, {33, 6, 2, 33}, {20, 0, 2, 3}};
    if (!emulated) {
        list.push_back({600, 9, 4, 16});
        list.push_back({300, 3, 10, 64});
        list.push_back({50, 400, 3, 9});
        list.push_back({50, 5, 1, 300});
    }
    return list;
}

}  // namespace

TEST_CASE("values are the definition's") {
    for (const Size& s : sizes()) {
        const Graph graph = random_graph(s.nodes, s.degree, 1);
        const Operands x(s.nodes, s.heads, s.width);
        for (const double slope : {0.2, 0.0, 1.0}) {
            const Tensor expected = Tensor::from(naive(x, graph, slope), x.h.shape());
            const GraphAttentionOptions o{.slope = slope};
            CAPTURE(s.nodes);
            CAPTURE(s.width);
            CHECK(distance(graph_attention(x.h, x.source, x.target, graph, o).value(), expected) <
                  1e-12);
            CHECK(distance(graph_attention_reference(x.h, x.source, x.target, graph, o).value(),
                           expected) < 1e-12);
        }
    }
}

TEST_CASE("fused equals reference, values and gradients; float32 errs at most twice as much") {
    for (const Size& s : sizes())
        for (const double p : {0.0, 0.4}) {
            const Graph graph = random_graph(s.nodes, s.degree, 2);
            const Operands x(s.nodes, s.heads, s.width);
            const GraphAttentionOptions o{.dropout = {p, Key{5, 1}}};
            const Results exact = run(false, x, graph, o);
            CAPTURE(s.nodes);
            CAPTURE(s.width);
            CAPTURE(p);
            CHECK(distance(run(true, x, graph, o), exact) < 1e-12);
            const Results fused = run(true, x, graph, o, DType::f32),
                          plain = run(false, x, graph, o, DType::f32);
            for (const auto part : {&Results::out, &Results::h, &Results::source, &Results::target})
                CHECK(mean_distance(fused.*part, exact.*part) <=
                      2 * mean_distance(plain.*part, exact.*part) + 2e-8);
        }
}

TEST_CASE("golden number G4: a score, by its weight") {
    // One head; node 0 sees itself and node 1. e_01 = 2.3, e_00 = a_target·h_0 + a_source·h_0.
    const Tensor h = Tensor::from(std::vector<double>{1, -.5, 2, .3, .8, -1}, {2, 1, 3}),
                 target = Tensor::from(std::vector<double>{.2, -.3, .5}, {1, 3}),
                 source = Tensor::from(std::vector<double>{.1, .4, -.6}, {1, 3});
    const Graph graph(Tensor::from(Ids{0, 2, 2}), Tensor::from(Ids{1, 0}));
    const auto w = graph_attention_weights(h, source, target, graph).value().to_vector<double>();
    const double own = (.2 + .15 + 1) + (.1 - .2 - 1.2);  // 0.05
    CHECK(std::log(w[0] / w[1]) == doctest::Approx(2.3 - own).epsilon(1e-14));
}

TEST_CASE("both orders of derivatives") {
    const Graph graph = random_graph(9, 3, 4);
    for (const double p : {0.0, 0.3}) {
        const Operands x(9, 2, 3, 8);
        const Tensor inputs[] = {x.h, x.source, x.target};
        const GradcheckReport report = gradcheck(
            [&](std::span<const Var> at) {
                return graph_attention(at[0], at[1], at[2], graph, {.dropout = {p, Key{3, 1}}});
            },
            inputs, {.tolerance = 1e-6, .second_tolerance = 1e-6, .step = 1e-4});
        CHECK_MESSAGE(report.ok, report.failure);
    }
}

TEST_CASE("only what is asked for is given, and equals the whole") {
    const Graph graph = random_graph(30, 4, 5);
    const Operands x(30, 2, 5);
    const Results all = run(true, x, graph);
    const Tensor parts[] = {x.h, x.source, x.target}, expected[] = {all.h, all.source, all.target};
    for (size_t which = 0; which < 3; ++which) {
        Tape tape;
        Var in[] = {x.h, x.source, x.target};
        in[which] = tape.watch(parts[which]);
        const Var out = graph_attention(in[0], in[1], in[2], graph);
        const Tensor g = randn(Key{9, 9}, out.shape(), DType::f64);
        auto [d] = tape.gradient(out, {in[which]}, {.cotangents = {g}});
        CHECK(difference(d, expected[which]) == "");
    }
}

TEST_CASE("the same bits on every instruction set and for any number of threads") {
    const Restore restore;
    for (const DType dtype : {DType::f32, DType::f64})
        for (const Size& s : sizes()) {
            const Graph graph = random_graph(s.nodes, s.degree, 6);
            const Operands x(s.nodes, s.heads, s.width);
            const GraphAttentionOptions o{.dropout = {0.25, Key{1, 2}}};
            set_isa(Isa::scalar);
            set_thread_count(1);
            const Results expected = run(true, x, graph, o, dtype);
            for (const Isa isa : available_isas())
                for (const int threads : {1, 3}) {
                    set_isa(isa);
                    set_thread_count(threads);
                    const Results r = run(true, x, graph, o, dtype);
                    CAPTURE(std::string(name_of(isa)));
                    CAPTURE(s.width);
                    for (const auto part :
                         {&Results::out, &Results::h, &Results::source, &Results::target})
                        CHECK(difference(r.*part, expected.*part) == "");
                }
        }
}

TEST_CASE("nodes without neighbours get zeros, and give nothing") {
    // 0 sees 1 and 1 sees 0; 2 is alone; 3 is seen by none but sees 0.
    const Graph graph(Tensor::from(Ids{0, 1, 2, 2, 3}), Tensor::from(Ids{1, 0, 0}));
    const Operands x(4, 2, 3);
    for (const bool fused : {true, false}) {
        const Results r = run(fused, x, graph);
        CHECK(size(slice(r.out, 0, 2, 3)) == 0);
        CHECK(size(slice(r.h, 0, 2, 3)) == 0);
        // One neighbour only: its values, whatever the score.
        CHECK(distance(slice(r.out, 0, 3, 4), slice(x.h, 0, 0, 1)) < 1e-15);
    }
}

TEST_CASE("what nobody sees leaks nowhere") {
    const double nan = std::numeric_limits<double>::quiet_NaN();
    const Graph graph = random_graph(40, 4, 7);  // nodes 3, 10, 17, … have no edges
    for (const double poison : {nan, -nan, std::numeric_limits<double>::infinity()})
        for (const bool fused : {true, false}) {
            const Operands clean(40, 3, 5);
            Operands x = clean;
            x.h = clean.h.clone();
            for (int64_t i = 3; i < 40; i += 7)
                for (int64_t c = 0; c < 15; ++c) x.h.mutable_data<double>()[i * 15 + c] = poison;
            const Results r = run(fused, x, graph), expected = run(fused, clean, graph);
            for (const auto part : {&Results::out, &Results::h, &Results::source, &Results::target})
                CHECK(difference(r.*part, expected.*part) == "");
        }
}

TEST_CASE("what sees but is not seen keeps it to itself, and its gradient where none asks for it") {
    const double nan = std::numeric_limits<double>::quiet_NaN();
    const Graph graph(Tensor::from(Ids{0, 1, 2, 4}), Tensor::from(Ids{1, 0, 0, 1}));  // 2 sees both
    const auto first_two = [&](const Operands& x) {
        Tape tape;
        const Var h = tape.watch(x.h), s = tape.watch(x.source), t = tape.watch(x.target);
        const Var out = slice(graph_attention(h, s, t, graph), 0, 0, 2);
        auto [dh, ds, dt] = tape.gradient(sum(square(out)), {h, s, t});
        return Results{out.value(), dh, ds, dt};
    };
    const Operands clean(3, 2, 4);
    Operands x = clean;
    x.h = clean.h.clone();
    x.h.mutable_data<double>()[2 * 8] = nan;
    CHECK_FALSE(all_finite(graph_attention(x.h, x.source, x.target, graph).value()));
    const Results found = first_two(x), expected = first_two(clean);
    for (const auto part : {&Results::out, &Results::h, &Results::source, &Results::target})
        CHECK(difference(found.*part, expected.*part) == "");
}

TEST_CASE("nodes may be numbered in any order") {
    const int64_t n = 50;
    const Graph graph = random_graph(n, 5, 13);
    const Operands x(n, 2, 6);
    const Tensor order = permutation(Key{6, 1}, n);  // new node i was order[i]
    const Ids was = order.to_vector<int64_t>();
    Ids now(was.size()), from, to;
    for (int64_t i = 0; i < n; ++i) now[size_t(was[size_t(i)])] = i;
    for (const int64_t j : graph.sources().to_vector<int64_t>()) from.push_back(now[size_t(j)]);
    for (const int64_t i : graph.targets().to_vector<int64_t>()) to.push_back(now[size_t(i)]);
    const Graph renamed = Graph::from_edges(Tensor::from(from), Tensor::from(to), n);
    const Tensor h = index_select(x.h, order, 0),
                 out = graph_attention(x.h, x.source, x.target, graph).value();
    CHECK(distance(graph_attention(h, x.source, x.target, renamed).value(),
                   index_select(out, order, 0)) < 1e-13);
}

TEST_CASE("few rows with a cotangent: the gradient of these") {
    const Graph graph = random_graph(80, 4, 12);
    const Operands x(80, 3, 5);
    const Tensor some = Tensor::from(Ids{0, 1, 17, 40, 79});
    const auto gradient = [&](bool fused) {
        Tape tape;
        const Var h = tape.watch(x.h), s = tape.watch(x.source), t = tape.watch(x.target);
        const Var out =
            fused ? graph_attention(h, s, t, graph) : graph_attention_reference(h, s, t, graph);
        auto [dh, ds, dt] = tape.gradient(sum(square(index_select(out, some, 0))), {h, s, t});
        return Results{out.value(), dh, ds, dt};
    };
    CHECK(distance(gradient(true), gradient(false)) < 1e-12);
}

TEST_CASE("large scores do not overflow") {
    const Graph graph = random_graph(30, 5, 8);
    Operands x(30, 2, 4);
    x.h = x.h * 400.0;
    CHECK(all_finite(run(true, x, graph, {}, DType::f32).out));
    CHECK(distance(run(true, x, graph), run(false, x, graph)) < 1e-12);
}

TEST_CASE("dropout is the engine's, by edge and head; weights are those used") {
    const Graph graph = random_graph(40, 6, 9);
    const Operands x(40, 3, 4);
    const GraphAttentionOptions o{.dropout = {0.5, Key{4, 2}}};
    const auto keep = dropout(Tensor::ones({graph.edges(), 3}, DType::f64), 0.5, o.dropout.key)
                          .to_vector<double>();
    CHECK(distance(graph_attention(x.h, x.source, x.target, graph, o).value(),
                   Tensor::from(naive(x, graph, 0.2, keep), x.h.shape())) < 1e-12);
    const auto w = graph_attention_weights(x.h, x.source, x.target, graph, o).value();
    const auto full = graph_attention_weights(x.h, x.source, x.target, graph).value();
    CHECK(distance(w, full * Tensor::from(keep, w.shape())) < 1e-14);
}

TEST_CASE("no memory for edges' features") {
    const Graph graph = random_graph(500, 40, 10);
    const Operands x(500, 4, 32);
    const int64_t features = graph.edges() * 4 * 32 * 8;
    reset_peak_memory();
    const size_t before = memory_stats().live;
    run(true, x, graph);
    CHECK(int64_t(memory_stats().peak - before) < features / 4);
    reset_peak_memory();
    run(false, x, graph);
    CHECK(int64_t(memory_stats().peak - before) > features);  // the reference does: this can fail
}

TEST_CASE("errors name what is wrong") {
    const Graph graph = random_graph(5, 2, 11);
    const Operands x(5, 2, 3);
    const auto message = [&](const Tensor& h, const Tensor& s, const Tensor& t,
                             GraphAttentionOptions o = {}) {
        return message_of([&] { graph_attention(h, s, t, graph, o); });
    };
    CHECK(message(x.h, x.source, x.target) == "accepted");
    CHECK(message(slice(x.h, 0, 0, 4), x.source, x.target) ==
          "[graph_attention] h must be (nodes, heads, width) with 5 nodes, got (4,2,3)");
    CHECK(message(x.h, slice(x.source, 0, 0, 1), x.target) ==
          "[graph_attention] attention_source (1,3) must be (heads, width) of h (5,2,3)");
    CHECK(message(x.h, x.source, slice(x.target, 1, 0, 2)) ==
          "[graph_attention] attention_target (2,2) must be (heads, width) of h (5,2,3)");
    CHECK(message(x.h, x.source, cast(x.target, DType::f32)) ==
          "[graph_attention] h and attention_target must be both f32 or both f64, got f64 and f32; "
          "use cast");
    CHECK(message(x.h, x.source, x.target, {.dropout = {1}}) ==
          "[graph_attention] dropout.rate must be in [0, 1), got 1");
    CHECK(message(x.h, x.source, x.target, {.slope = std::nan("")}) ==
          "[graph_attention] slope must be a finite number, got nan");
    const auto named = [&](const char* name, auto f) {
        CHECK(message_of([&] {
                  f(x.h, x.target, x.h, graph, GraphAttentionOptions{});
              }).starts_with(name));
    };
    named("[graph_attention_weights] attention_target", graph_attention_weights);
    named("[graph_attention_reference] attention_target", graph_attention_reference);
    named("[decompose_graph_attention] attention_target", decompose_graph_attention);
}
