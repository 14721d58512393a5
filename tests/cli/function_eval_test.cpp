// Attention's functions of tensors and plain attributes through `mercer eval`, against the library's own results.
#include <set>
#include <tuple>

#include "attention/graph/graph_attention.h"
#include "attention/smoother/bandwidth.h"
#include "attention/smoother/position/encoding.h"
#include "attention/smoother/position/relative.h"
#include "attention/smoother/probes.h"
#include "tests/cli/eval_support.h"

using namespace mercer;
using namespace mercer::test;

TEST_CASE("functions of tensors and plain attributes are called by name") {
    Inputs in;
    using Results = std::vector<std::pair<std::string, Var>>;
    const auto out = [](Var v) { return Results{{"out", std::move(v)}}; };
    const auto number = [](double x) { return Var(Tensor::scalar(x, DType::f64)); };
    const auto count = [](int64_t n) { return Var(Tensor::scalar(n, DType::i64)); };
    const Tensor x = in.of("tq"), y = in.of("tk");
    const Graph ring(in.of("rows"), in.of("columns"));
    const GraphAttentionOptions options{0.1, {0.3, Key{4, 5}}};
    const GraphDecomposition d =
        decompose_graph_attention(in("nodes"), in("a_s"), in("a_t"), ring, {0.1, {}});
    const LogFactors factors = similarity_and_magnitude(in("q"), in("k"));
    const LeaveOneOut left = leave_one_out(x, y, 2, Profile::laplace);
    const BandwidthChoice chosen = choose_bandwidth(x, y, {Profile::triweight, 5, 1, 9, 2});
    const LearnedBandwidth learned = learn_bandwidth(x, y, 2, Profile::gaussian, 3);
    const std::string points = R"("inputs": {"x": "tq", "y": "tk"}, "attrs": )",
                      graph = R"("inputs": {"h": "nodes", "attention_source": "a_s",
        "attention_target": "a_t", "offsets": "rows", "sources": "columns"}, "attrs": )";
    const std::tuple<std::string, std::string, Results> rows[] = {
        {"sinusoidal_encoding",
         R"("inputs": {"positions": "lengths"}, "attrs": {"width": 8, "layout": "fairseq", "dtype": "f64"})",
         out(sinusoidal_encoding(in("lengths"), 8, DType::f64,
                                 {.layout = EncodingLayout::fairseq}))},
        {"token_positions", R"("inputs": {"visible": "mask"})",
         out(token_positions(in.of("mask")))},
        {"add_positions", R"("inputs": {"f": "q", "t": "tq"})",
         out(add_positions(in("q"), in("tq")))},
        {"rotate_pairs",
         R"("inputs": {"x": "q", "positions": "places"}, "attrs": {"layout": "halves", "width": 2})",
         out(rotate_pairs(in("q"), in("places"), PairLayout::halves, 10000, 2))},
        {"grid_encoding", R"("inputs": {"rows": "grid_rows", "columns": "grid_columns"})",
         out(grid_encoding(in("grid_rows"), in("grid_columns")))},
        {"log_sinusoid_kernel",
         R"("inputs": {"c": "q", "query_positions": "places", "key_positions": "places"}, "attrs": {"base": 50})",
         out(log_sinusoid_kernel(in("q"), in("places"), in("places"), 50))},
        {"relative_shift", R"("inputs": {"x": "gw"}, "attrs": {"keys": 4})",
         out(relative_shift(in("gw"), 4))},
        {"alibi_slopes", R"("inputs": {}, "attrs": {"heads": 6})", out(alibi_slopes(6))},
        {"with_memory", R"("inputs": {"memory": "v", "x": "g"})",
         out(with_memory(in("v"), in("g")))},
        {"similarity_and_magnitude",
         R"("inputs": {"q": "q", "k": "k"})",
         {{"similarity", factors.similarity}, {"query", factors.query}, {"key", factors.key}}},
        {"leave_one_out",
         points + R"({"bandwidth": 2, "profile": "laplace"})",
         {{"error", number(left.error)}, {"fallbacks", count(left.fallbacks)}}},
        {"choose_bandwidth",
         points + R"({"profile": "triweight", "points": 5, "low": 1, "high": 9, "refinements": 2})",
         {{"bandwidth", number(chosen.bandwidth)},
          {"rmse", number(chosen.rmse)},
          {"fallbacks", count(chosen.fallbacks)},
          {"tried", Tensor::from(chosen.tried)},
          {"tried_rmse", Tensor::from(chosen.tried_rmse)}}},
        {"learn_bandwidth",
         points + R"({"start": 2, "iterations": 3})",
         {{"bandwidth", number(learned.bandwidth)},
          {"rmse", number(learned.rmse)},
          {"fallbacks", count(learned.fallbacks)},
          {"evaluations", count(learned.evaluations)},
          {"converged", Tensor::scalar(learned.converged, DType::boolean)}}},
        {"graph_attention", graph + R"({"slope": 0.1, "dropout": 0.3, "key": [4, 5]})",
         out(graph_attention(in("nodes"), in("a_s"), in("a_t"), ring, options))},
        {"graph_attention_weights", graph + R"({"slope": 0.1, "dropout": 0.3, "key": [4, 5]})",
         out(graph_attention_weights(in("nodes"), in("a_s"), in("a_t"), ring, options))},
        {"decompose_graph_attention",
         graph + R"({"slope": 0.1})",
         {{"c", Var(d.c)}, {"target", d.target}, {"source", d.source}, {"magnitude", d.magnitude}}},
    };
    std::string spec;
    std::set<std::string_view> known;
    for (const auto& [name, fields, results] : rows) {
        std::string names;
        for (const auto& [result, want] : results)
            names += (names.empty() ? "\"" : ", \"") + result + R"(": ")" + result + "\"";
        spec += (spec.empty() ? "[" : ",\n") + (R"({"op": ")" + name) + "\", " + fields +
                R"(, "outputs": {)" + names + "}}";
        known.insert(name);
    }
    for (const Callable& c : description::operations())
        if (c.invoke) CHECK_MESSAGE(known.contains(c.info->name), std::string(c.info->name));
    const io::TensorMap got = evaluate(in, spec + "]");
    int i = 0;
    for (const auto& [name, fields, results] : rows) {
        for (const auto& [result, want] : results) {
            const std::string what = name + " " + result;
            CHECK_MESSAGE(difference(got.at(std::to_string(i) + "/" + result), want.value()) == "",
                          what);
        }
        ++i;
    }
}
