// smoother_eval_test MERCER: every kernel, filter, position and normaliser through `mercer eval`, against the library's
// own result, values and gradients to the bit.
#include <set>

#include "attention/smoother/bandwidth.h"
#include "attention/smoother/probes.h"
#include "tests/cli/eval_support.h"

using namespace mercer;
using namespace mercer::test;

namespace {

struct Case {
    std::string attrs;
    std::vector<std::string> uses;  // inputs beside q, k, v
    SmootherOptions options;
};

std::vector<Case> cases(const Inputs& in) {
    std::vector<Case> out;
    const auto kernel = [&](std::string text, Kernel k, std::vector<std::string> uses = {}) {
        out.push_back({R"("kernel": )" + text, uses, {.kernel = std::move(k)}});
    };
    kernel(R"("dot_product")", dot_product());
    kernel(R"({"luong_dot": {"scale": 0.7}})", dot_product(0.7));
    kernel(R"("linear")", linear());
    kernel(R"({"polynomial": {"degree": 3, "offset": 4, "scale": 0.5}})", polynomial(3, 4, 0.5));
    kernel(R"("rbf")", rbf());
    kernel(R"("rbf_similarity")", rbf_similarity());
    kernel(R"({"expsin": {"period": 1.5}})", expsin(1.5));
    kernel(R"({"cosine": {"temperature": "t"}})", cosine(in("t")), {"t"});
    kernel(R"("cosine")", cosine());
    kernel(R"({"additive": {"w": "w"}})", additive(in("w")), {"w"});
    kernel(R"({"additive": {"w": [1, -0.5, 2, 0.25]}})",
           additive(Tensor::from(std::vector<double>{1, -0.5, 2, 0.25})));
    kernel(R"({"nadaraya_watson": {"bandwidth": 0.5}})", nadaraya_watson(0.5));
    const char* profiles[] = {"gaussian", "boxcar",    "triangular", "epanechnikov",
                              "biweight", "triweight", "laplace",    "constant"};
    for (int p = 0; p < 8; ++p)
        kernel(R"({"nadaraya_watson": {"bandwidth": "h", "profile": ")" + std::string(profiles[p]) +
                   "\"}}",
               nadaraya_watson(Profile(p), in("h")), {"h"});

    const auto filtered = [&](std::string text, Filter f, std::vector<std::string> uses = {}) {
        out.push_back({R"("kernel": "rbf", "filter": )" + text,
                       uses,
                       {.kernel = rbf(), .filter = std::move(f)}});
    };
    filtered(R"("full")", full());
    filtered(R"("causal")", causal());
    filtered(R"({"causal": {"offset": 2}})", causal(2));
    filtered(R"({"others": {"offset": 1}})", others(1));
    filtered(R"({"window": {"w": 3, "offset": 1}})", window(3, 1));
    filtered(R"({"xl_memory": {"memory": 1}})", xl_memory(1));
    filtered(R"({"same_length": {"memory": 2, "length": 3}})", same_length(2, 3));
    filtered(R"({"strided": {"l": 3}})", strided(3));
    filtered(R"({"strided_local": {"l": 3}})", strided_local(3));
    filtered(R"({"strided_summary": {"l": 3}})", strided_summary(3));
    filtered(R"({"fixed": {"l": 3, "c": 1}})", fixed(3, 1));
    filtered(R"({"fixed_local": {"l": 3}})", fixed_local(3));
    filtered(R"({"fixed_summary": {"l": 4, "c": 2, "sub_blocks": 2}})", fixed_summary(4, 2, 2));
    filtered(R"({"padding": {"lengths": "lengths"}})", padding(in.of("lengths")), {"lengths"});
    filtered(R"({"padding": {"lengths": [4, 0]}})",
             padding(Tensor::from(std::vector<int64_t>{4, 0})));
    filtered(R"({"packed": {"offsets": "offsets"}})", packed(in.of("offsets")), {"offsets"});
    filtered(R"({"packed": {"offsets": [0, 3, 6], "key_offsets": "offsets"}})",
             packed(Tensor::from(std::vector<int64_t>{0, 3, 6}), in.of("offsets")), {"offsets"});
    filtered(R"({"graph": {"row_offsets": "rows", "columns": "columns"}})",
             graph(in.of("rows"), in.of("columns")), {"rows", "columns"});
    const std::pair<int64_t, int64_t> pairs[] = {{0, 0}, {1, 2}, {2, 1}};
    filtered(R"({"blocks": {"rows": 2, "columns": 2, "seen": [[0, 0], [1, 2], [2, 1]]}})",
             blocks(2, 2, pairs));
    const auto masked = [&](const std::string& name, bool wide) {
        const Tensor m = in.of(name);
        return filter(
            [=](const Seat& s) {
                const int64_t row = wide ? (s.batch * heads + s.head) * queries : 0;
                return m.data<bool>()[(row + s.query) * keys + s.key];
            },
            wide, wide);
    };
    filtered(R"({"mask": {"seen": "mask"}})", masked("mask", false), {"mask"});
    filtered(R"({"mask": {"seen": "mask4"}})", masked("mask4", true), {"mask4"});
    filtered(R"({"and": ["causal", {"window": {"w": 4}}, {"mask": {"seen": "mask"}}]})",
             causal() & window(4) & masked("mask", false), {"mask"});
    filtered(R"({"or": [{"window": {"w": 1}}, {"strided_summary": {"l": 2}}]})",
             window(1) | strided_summary(2));
    filtered(R"({"by_head": ["causal", {"and": ["full", {"window": {"w": 2}}]}]})",
             by_head({causal(), full() & window(2)}));

    const auto placed = [&](std::string text, Position p, std::vector<std::string> uses = {}) {
        out.push_back({R"("position": )" + text, uses, {.position = std::move(p)}});
    };
    placed(R"("none")", NoPosition{});
    placed(R"({"absolute": {"queries": "tq", "keys": "tk"}})", Absolute{in("tq"), in("tk")},
           {"tq", "tk"});
    placed(R"({"transformer_xl": {"weight": "w_r"}})", TransformerXl{.weight = in("w_r")}, {"w_r"});
    placed(
        R"({"transformer_xl": {"weight": "w_r", "u": "u", "v": "v_r", "scale_positions": false,
               "clamp_length": 3, "causal": true, "layout": "interleaved"}})",
        TransformerXl{in("w_r"), in("u"), in("v_r"), false, 3, true, EncodingLayout::interleaved},
        {"w_r", "u", "v_r"});
    placed(R"({"lookup": {"table": "table", "values": "values"}})",
           Lookup{.table = in("table"), .values = in("values")}, {"table", "values"});
    placed(R"({"lookup": {"table": "table", "reversed": true, "scaled": false, "offset": 1}})",
           Lookup{.table = in("table"), .reversed = true, .scaled = false, .offset = 1}, {"table"});
    placed(R"({"skew": {"table": "skewed", "scaled": false}})",
           Skew{.table = in("skewed"), .scaled = false}, {"skewed"});
    placed(R"({"symmetric": {"encoding": "tq"}})", Symmetric{.projected = in("tq")}, {"tq"});
    placed(R"({"symmetric": {"encoding": "tq", "weight": "w_t"}})", symmetric(in("tq"), in("w_t")),
           {"tq", "w_t"});
    placed(R"({"grid": {"rows": "grid_rows", "columns": "grid_columns"}})",
           Grid{in("grid_rows"), in("grid_columns")}, {"grid_rows", "grid_columns"});
    placed(R"("rotary")", rotary());
    placed(R"({"rotary": {"layout": "interleaved", "base": 50, "width": 2, "offset": 1}})",
           Rotary{PairLayout::interleaved, 50, 2, 1});
    placed(R"({"alibi": {"heads": 2}})", alibi(2));
    placed(R"({"alibi": {"slopes": "slopes", "offset": "none", "causal": true}})",
           Alibi{in("slopes"), {}, true}, {"slopes"});
    out.push_back({R"("dropout": 0.4, "key": [5, 6])", {}, {.dropout = {0.4, Key{5, 6}}}});
    out.push_back({R"("kernel": "rbf", "filter": {"window": {"w": 4}}, "position": "rotary",
                      "normaliser": "sparsemax", "dropout": 0.2)",
                   {},
                   {.kernel = rbf(),
                    .filter = window(4),
                    .position = rotary(),
                    .normaliser = sparsemax_weights(),
                    .dropout = {0.2, Key{0, 0}}}});

    const auto normal = [&](std::string text, Kernel k, Normaliser n,
                            std::vector<std::string> uses = {}) {
        out.push_back(
            {(k.direct ? R"("kernel": "linear", "normaliser": )" : R"("normaliser": )") + text,
             uses,
             {.kernel = std::move(k), .normaliser = std::move(n)}});
    };
    normal(R"("automatic")", dot_product(), {});
    normal(R"("softmax")", dot_product(), softmax_weights());
    normal(R"("division")", linear(), division());
    normal(R"("sparsemax")", dot_product(), sparsemax_weights());
    normal(R"("entmax15")", dot_product(), entmax15_weights());
    normal(R"({"entmax": {"alpha": "alpha"}})", dot_product(), entmax_weights(in("alpha")),
           {"alpha"});
    normal(R"({"entmax": {"alpha": 1.2}})", dot_product(),
           entmax_weights(Var(Tensor::scalar(1.2, DType::f64))));
    return out;
}

bool floating(const Inputs& in, const std::string& name) {
    return in.of(name).dtype() == DType::f64;
}

std::vector<std::string> inputs_of(const Case& c) {
    std::vector<std::string> names{"q", "k", "v"};
    names.insert(names.end(), c.uses.begin(), c.uses.end());
    return names;
}

std::string entry(const Inputs& in, const Case& c) {
    std::string inputs, gradients;
    for (const std::string& name : inputs_of(c)) {
        const char* comma = inputs.empty() ? "" : ", ";
        inputs += comma + ("\"" + name + "\": \"" + name + "\"");
        if (floating(in, name)) gradients += comma + ("\"" + name + "\": \"d" + name + "\"");
    }
    return R"({"op": "attend", "inputs": {)" + inputs + R"(}, "attrs": {)" + c.attrs +
           R"(}, "outputs": {"out": "out", "weights": "weights", "fallbacks": "fallbacks", )"
           R"("nonpositive": "nonpositive"}, "cotangents": {"out": "g"}, "gradients": {)" +
           gradients + "}}";
}

}  // namespace

TEST_CASE("every part, through the program, is the library's to the bit") {
    Inputs in;
    const std::vector<Case> all = cases(in);
    std::string spec;
    for (const Case& c : all) spec += (spec.empty() ? "[" : ",\n") + entry(in, c);
    const io::TensorMap got = evaluate(in, spec + "]");
    for (size_t i = 0; i < all.size(); ++i) {
        const Case& c = all[i];
        INFO(c.attrs);
        const std::string prefix = std::to_string(i) + "/";
        SmootherReport met;
        SmootherOptions options = c.options;
        options.report = &met;
        const Var out = attend(in("q"), in("k"), in("v"), options);
        CHECK(difference(got.at(prefix + "out"), out.value()) == "");
        CHECK(got.at(prefix + "fallbacks").item<int64_t>() == met.fallbacks);
        CHECK(got.at(prefix + "nonpositive").item<int64_t>() == met.nonpositive);
        CHECK(difference(got.at(prefix + "weights"),
                         smoother_weights(in("q"), in("k"), options).value()) == "");
        std::vector<std::string> names;
        std::vector<Var> wrt;
        for (const std::string& name : inputs_of(c))
            if (floating(in, name)) names.push_back(name), wrt.push_back(in(name));
        const auto gradients = in.tape.gradient(sum(out * Var(in.of("g"))), wrt, {.retain = true});
        for (size_t n = 0; n < names.size(); ++n) {
            INFO(names[n]);
            CHECK(difference(got.at(prefix + "d" + names[n]), gradients[n]) == "");
        }
    }
}

TEST_CASE("what softmax weights say of each row") {
    Inputs in;
    const io::TensorMap got = evaluate(
        in,
        R"({"op": "attend", "inputs": {"q": "q", "k": "k", "v": "v"}, "attrs": {"kernel": "rbf"},
                "outputs": {"out": "out", "lse": "lse", "entropy": "entropy"},
                "cotangents": {"out": "g"}, "gradients": {"q": "dq"}})");
    const Smoothed all = attend_measured(in("q"), in("k"), in("v"), {.kernel = rbf()});
    CHECK(difference(got.at("out"), all.out.value()) == "");
    CHECK(difference(got.at("lse"), all.lse.value()) == "");
    CHECK(difference(got.at("entropy"), all.entropy.value()) == "");
    const Var q[] = {in("q")};
    CHECK(difference(got.at("dq"), in.tape.gradient(sum(all.out * Var(in.of("g"))), q)[0]) == "");
}

TEST_CASE("no row of the tables goes without a case") {
    Inputs in;
    std::string text;
    for (const Case& c : cases(in)) text += c.attrs + "\n";
    const auto covers = [&](const auto& rows) {
        for (const auto& row : rows) {
            INFO(std::string(row.name));
            CHECK(text.find("\"" + std::string(row.name) + "\"") != std::string::npos);
        }
    };
    covers(description::kernels());
    covers(description::filters());
    covers(description::joins());
    covers(description::positions());
    covers(description::normalisers());
}

TEST_CASE("weights, log weights and the mask alone; a cotangent for the weights") {
    Inputs in;
    const io::TensorMap got = evaluate(in, R"([
        {"op": "smoother_weights", "inputs": {"q": "q", "k": "k"}, "attrs": {"kernel": "linear",
         "filter": "causal"}, "outputs": {"out": "w", "nonpositive": "n"}, "cotangents": {"out": "gw"},
         "gradients": {"q": "dq"}},
        {"op": "log_weights", "inputs": {"q": "q", "k": "k"}, "attrs": {"filter": "causal"},
         "outputs": {"out": "z"}},
        {"op": "visible", "inputs": {"q": "q", "k": "k"}, "attrs": {"filter": {"window": {"w": 2}}},
         "outputs": {"out": "m"}},
        {"op": "probe_rows", "inputs": {"q": "q", "k": "k"}, "attrs": {"filter": "causal"},
         "outputs": {"log_similarity": "s", "magnitude": "m"}},
        {"op": "attend", "inputs": {"q": "q", "k": "k", "v": "v"}, "outputs": {},
         "cotangents": {"weights": "gw", "out": "g"}, "gradients": {"k": "dk"}},
        {"op": "attend", "inputs": {"q": "q", "k": "k", "v": "v"}, "outputs": {"out": "o"}, "dtype": "f32"}])");
    SmootherReport met;
    const SmootherOptions options{.kernel = linear(), .filter = causal(), .report = &met};
    const Var w = smoother_weights(in("q"), in("k"), options);
    CHECK(difference(got.at("0/w"), w.value()) == "");
    CHECK(got.at("0/n").item<int64_t>() == met.nonpositive);
    CHECK(met.nonpositive > 0);
    const auto [dq] = in.tape.gradient(sum(w * Var(in.of("gw"))), {in("q")}, {.retain = true});
    CHECK(difference(got.at("0/dq"), dq) == "");
    CHECK(difference(got.at("1/z"), log_weights(in("q"), in("k"), {.filter = causal()}).value()) ==
          "");
    const Shape scores{batches, heads, queries, keys};
    CHECK(difference(got.at("2/m"),
                     broadcast_to(visible(window(2), scores), scores).contiguous()) == "");
    const RowProbes probes = probe_rows(in.of("q"), in.of("k"), causal());
    CHECK(difference(got.at("3/s"), probes.log_similarity) == "");
    CHECK(difference(got.at("3/m"), probes.magnitude) == "");
    const Var both = sum(attend(in("q"), in("k"), in("v")) * Var(in.of("g"))) +
                     sum(smoother_weights(in("q"), in("k")) * Var(in.of("gw")));
    const auto [dk] = in.tape.gradient(both, {in("k")}, {.retain = true});
    CHECK(max(abs(got.at("4/dk") - dk)).item<double>() < 1e-14);
    const auto single = [&](const char* name) { return cast(in.of(name), DType::f32); };
    CHECK(difference(got.at("5/o"), attend(single("q"), single("k"), single("v")).value()) == "");
}
