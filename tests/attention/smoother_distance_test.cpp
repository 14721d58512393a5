// Tables by distance in the fused smoother against the reference form: tables that clip and that do not,
// shorter and longer than the distances there are, counted either way; queries before, among and beyond
// the keys, and more of them than are packed at once.
#include "engine/isa.h"
#include "engine/parallel.h"
#include "tests/attention/smoother_support.h"
#include "tests/support/bits.h"
#include "tests/support/emulated.h"
#include "tests/support/restore.h"

using namespace mercer;

namespace {

constexpr int64_t heads = 2, width = 8, value_width = 5;

Tensor sample(uint64_t n, const Shape& shape, double scale = 0.7) {
    return randn(Key{97, n}, shape, DType::f64) * scale;
}

struct Lengths {
    int64_t queries, keys, offset;
};
std::vector<Lengths> lengths() {
    if (MERCER_EMULATED) return {{70, 150, 80}};
    return {{150, 150, 0}, {40, 300, 260}, {300, 140, 0}, {60, 200, -20}, {1, 130, 129}};
}
// Blocks of queries are packed 7168 at a time.
const Lengths many{MERCER_EMULATED ? 200 : 7300, 130, 3};

struct Variant {
    std::string name;
    MakeOptions options;
    std::vector<Tensor> tables;
    bool nothing = false;  // where all weights grow by one factor, the tables' gradient is 0
};

std::vector<Variant> variants(const Lengths& n) {
    using Extra = std::span<const Var>;
    std::vector<Variant> all;
    const auto lookup = [&](const std::string& name, Lookup scheme, const Shape& table,
                            const Shape& values) {
        scheme.offset = n.offset;
        std::vector<Tensor> tables{sample(1, table)};
        if (values.rank()) tables.push_back(sample(2, values));
        all.push_back({name,
                       [scheme](Extra x) {
                           Lookup own = scheme;
                           own.table = x[0];
                           if (x.size() > 1) own.values = x[1];
                           return SmootherOptions{.position = own};
                       },
                       std::move(tables)});
    };
    const int64_t every = 2 * (n.queries + n.keys) + 1;
    lookup("clipped", {}, {7, width}, {5, value_width});
    lookup("clipped, of heads", {}, {heads, 7, width}, {heads, 5, value_width});
    lookup("clipped, reversed", {.reversed = true, .scaled = false}, {7, width}, {5, value_width});
    lookup("one row", {}, {1, width}, {1, value_width});
    all.back().nothing = true;
    lookup("clipped in some tiles", {}, {201, width}, {301, value_width});
    lookup("not clipped", {}, {every, width}, {every, value_width});
    lookup("not clipped, reversed", {.reversed = true}, {heads, every, width},
           {every, value_width});
    lookup("not packed as a whole", {}, {4501, width}, {5001, value_width});
    lookup("not packed as a whole, reversed", {.reversed = true}, {4501, width},
           {heads, 4501, value_width});
    const auto add = [&](const std::string& name, std::vector<Tensor> x,
                         std::function<Position(Extra)> position) {
        all.push_back({name,
                       [position](Extra e) { return SmootherOptions{.position = position(e)}; },
                       std::move(x)});
    };
    if (n.keys < n.queries || n.offset != n.keys - n.queries) return all;
    for (const int64_t more : {0, 9})
        add("skew", {sample(3, {n.keys + more, width})},
            [n](Extra x) { return Skew{.table = x[0], .offset = n.offset}; });
    const std::vector<Tensor> xl{sample(4, {heads, 6, width}), sample(5, {width}),
                                 sample(6, {heads, width})};
    for (const int64_t most : {0, 4, 100, 1000})
        for (const auto layout :
             {EncodingLayout::halves, EncodingLayout::interleaved, EncodingLayout::fairseq})
            for (const bool causal_ : {false, true})
                add("Transformer-XL", xl, [=](Extra x) {
                    return TransformerXl{.weight = x[0],
                                         .u = x[1],
                                         .v = x[2],
                                         .clamp_length = most,
                                         .causal = causal_,
                                         .layout = layout};
                });
    return all;
}

std::vector<Tensor> operands(const Lengths& n, const std::vector<Tensor>& tables,
                             uint64_t draw = 0) {
    const uint64_t first = 20 + 100 * draw;
    std::vector<Tensor> x{sample(first, {1, heads, n.queries, width}),
                          sample(first + 1, {1, heads, n.keys, width}),
                          sample(first + 2, {1, heads, n.keys, value_width})};
    x.insert(x.end(), tables.begin(), tables.end());
    return x;
}

SmootherComparison compared(const Lengths& n, const Variant& v, const MakeOptions& options) {
    return compare_by_draws([&](uint64_t draw) { return operands(n, v.tables, draw); }, options,
                            2e-8);
}

std::vector<std::pair<std::string, MakeOptions>> modes(const MakeOptions& options) {
    const auto changed = [&](auto change) {
        return [=](std::span<const Var> x) {
            SmootherOptions o = options(x);
            change(o);
            return o;
        };
    };
    return {{"", options},
            {", window", changed([](SmootherOptions& o) { o.filter = window(50, 30); })},
            {", entmax", changed([](SmootherOptions& o) { o.normaliser = entmax15_weights(); })}};
}

}  // namespace

TEST_CASE("tables by distance: fused equals reference") {
    for (const Lengths& n : lengths())
        for (const Variant& v : variants(n))
            for (const auto& [mode, options] : modes(v.options)) {
                const std::string what = v.name + mode + ", " + std::to_string(n.queries) + " × " +
                                         std::to_string(n.keys);
                const auto c = compared(n, v, options);
                CHECK_MESSAGE(c.float64 < 1e-12, what, ": ", c.float64);
                if (v.nothing) continue;
                CHECK_MESSAGE(c.fused32 <= 2 * c.plain32 + 2e-8, what, ": ", c.fused32, " against ",
                              c.plain32);
            }
}

TEST_CASE("more queries than are packed at once") {
    const auto check = [](const std::string& name, const std::vector<Tensor>& tables,
                          const MakeOptions& options) {
        const std::vector<Tensor> x = operands(many, tables);
        const double far = over_all(largest_distance, smoother_results(true, x, options),
                                    smoother_results(false, x, options));
        CHECK_MESSAGE(far < 1e-12, name, ": ", far);
    };
    // The reference form takes all pairs of 7300: some of the variants.
    const std::vector<Variant> all = variants(many);
    for (const Variant& v : {all.front(), all.back()}) check(v.name, v.tables, v.options);
    check("clipped, window", all[0].tables, modes(all[0].options)[1].second);
    for (const Kernel& kernel : {dot_product(), rbf(), nadaraya_watson(3), polynomial(2)})
        check(kernel.name, {}, [&](std::span<const Var>) {
            return SmootherOptions{.kernel = kernel, .filter = window(6000, 20)};
        });
}

TEST_CASE("tables by distance: the same bits on every instruction set and number of threads") {
    const Restore restore;
    std::vector<std::pair<Lengths, Variant>> all;
    for (const Variant& v : variants(lengths()[0])) all.emplace_back(lengths()[0], v);
    if (!MERCER_EMULATED) {
        all.emplace_back(many, variants(many)[0]);
        Variant v = all.back().second;
        v.name += ", window", v.options = modes(v.options)[1].second;
        all.emplace_back(many, v);
    }
    for (const auto& [n, v] : all) {
        CAPTURE(v.name);
        const std::vector<Tensor> x = in_float32(operands(n, v.tables));
        set_isa(Isa::scalar);
        set_thread_count(1);
        const SmootherResults expected = smoother_results(true, x, v.options);
        for (const Isa other : available_isas())
            for (const int threads : {1, 2, 5}) {
                set_isa(other);
                set_thread_count(threads);
                const SmootherResults r = smoother_results(true, x, v.options);
                for (size_t i = 0; i < r.size(); ++i) CHECK(difference(r[i], expected[i]) == "");
            }
    }
}
