// The fused smoother against the reference form beyond the product of kernels, filters and normalisers:
// position schemes, dropout, grouped heads, what must not leak, what it reports.
#include "engine/error.h"
#include "tests/attention/smoother_support.h"
#include "tests/support/emulated.h"

using namespace mercer;

namespace {

struct Variant {
    std::string name;
    MakeOptions options;
    std::vector<Tensor> extra = {};
};

constexpr int64_t heads = 2;

Tensor sample(uint64_t n, const Shape& shape, double scale = 0.7) {
    return randn(Key{91, n}, shape, DType::f64) * scale;
}

// Variants of width d over t queries and keys; values are of width 5.
std::vector<Variant> variants(int64_t t, int64_t d) {
    using Extra = std::span<const Var>;
    const int64_t rows = std::max<int64_t>(t, 1);
    const auto fixed = [](SmootherOptions o) { return [o](Extra) { return o; }; };
    std::vector<Variant> all;
    const auto add = [&](std::string name, MakeOptions options, std::vector<Tensor> extra = {}) {
        all.push_back({std::move(name), std::move(options), std::move(extra)});
    };
    // Slopes without bound for α > 2, at the ends of the support.
    add("α of each row",
        [](Extra x) { return SmootherOptions{.normaliser = entmax_weights(x[0])}; },
        {abs(sample(90, {heads, t, 1})) + 1.2});
    // positions
    add("absolute",
        [](Extra x) {
            return SmootherOptions{.position = Absolute{x[0], x[1]}};
        },
        {sample(1, {t, d}), sample(2, {1, heads, t, d})});
    for (const bool causal_ : {false, true}) {
        const std::string tail = causal_ ? ", causal" : "";
        add("Transformer-XL" + tail,
            [causal_](Extra x) {
                return SmootherOptions{
                    .position =
                        TransformerXl{.weight = x[0], .u = x[1], .v = x[2], .causal = causal_}};
            },
            {sample(3, {heads, 6, d}), sample(4, {heads, d}), sample(5, {d})});
        add("ALiBi" + tail,
            [causal_](Extra x) {
                return SmootherOptions{.position = Alibi{.slopes = x[0], .causal = causal_}};
            },
            {abs(sample(6, {heads})) + 0.1});
    }
    add("lookup", [](Extra x) { return SmootherOptions{.position = Lookup{.table = x[0]}}; },
        {sample(7, {9, d})});
    add("lookup with values, of heads",
        [](Extra x) { return SmootherOptions{.position = Lookup{.table = x[0], .values = x[1]}}; },
        {sample(8, {heads, 5, d}), sample(9, {7, 5})});
    add("lookup with values, entmax",
        [](Extra x) {
            return SmootherOptions{.position = Lookup{.table = x[0], .values = x[1]},
                                   .normaliser = entmax15_weights()};
        },
        {sample(8, {heads, 5, d}), sample(9, {7, 5})});
    add("skew", [](Extra x) { return SmootherOptions{.position = Skew{.table = x[0]}}; },
        {sample(10, {rows, d})});
    add("symmetric",
        [](Extra x) { return SmootherOptions{.position = Symmetric{.projected = x[0]}}; },
        {sample(11, {rows, 6})});
    add("symmetric, rbf",
        [](Extra x) {
            return SmootherOptions{.kernel = rbf(), .position = Symmetric{.projected = x[0]}};
        },
        {sample(11, {heads, rows, 6})});
    if (d % 2 == 0) add("rotary", fixed({.position = Rotary{}}));
    // dropout
    for (const Kernel& kernel : {dot_product(), polynomial(2)})
        add(std::string("dropout, ") + kernel.name,
            fixed({.kernel = kernel, .dropout = {.rate = 0.3, .key = Key{5, 6}}}));
    add("dropout, sparsemax",
        fixed({.normaliser = sparsemax_weights(), .dropout = {.rate = 0.3, .key = Key{5, 7}}}));
    return all;
}

std::vector<Tensor> operands(int64_t t, int64_t d, const std::vector<Tensor>& extra,
                             uint64_t draw = 0) {
    std::vector<Tensor> x{sample(20 + 100 * draw, {2, heads, t, d}),
                          sample(21 + 100 * draw, {2, heads, t, d}),
                          sample(22 + 100 * draw, {2, heads, t, 5}, 1)};
    x.insert(x.end(), extra.begin(), extra.end());
    return x;
}

MakeOptions with(const MakeOptions& options, const Filter& filter) {
    return [=](std::span<const Var> extra) {
        SmootherOptions o = options(extra);
        o.filter = filter;
        return o;
    };
}

}  // namespace

TEST_CASE("fused equals reference: positions, dropout") {
    const std::vector<int64_t> lengths = MERCER_EMULATED
                                             ? std::vector<int64_t>{65}
                                             : std::vector<int64_t>{0, 1, 7, 64, 65, 257},
                               widths = MERCER_EMULATED ? std::vector<int64_t>{8}
                                                        : std::vector<int64_t>{1, 8, 33, 64, 128};
    double worst64 = 0, worst32 = 0;
    std::string where64, where32;
    for (const int64_t t : lengths)
        for (const int64_t d : widths)
            for (const Variant& v : variants(t, d))
                for (const bool hides : {false, true}) {
                    if (hides && t > 65 && d != 8) continue;  // time
                    const std::string what = v.name + (hides ? ", window, " : ", ") +
                                             std::to_string(t) + " × " + std::to_string(d);
                    CAPTURE(what);
                    const auto options =
                        hides ? with(v.options, window(9) | strided_summary(16)) : v.options;
                    const double slack = t <= 7 ? 2e-7 : 2e-8;
                    const auto c = compare_by_draws(
                        [&](uint64_t draw) { return operands(t, d, v.extra, draw); }, options,
                        slack);
                    if (c.float64 > worst64) worst64 = c.float64, where64 = what;
                    CHECK_MESSAGE(c.float64 < 1e-12, what, ": ", c.float64);
                    const double fused = c.fused32, plain = c.plain32;
                    if (t > 7 && fused > worst32 * plain) worst32 = fused / plain, where32 = what;
                    CHECK_MESSAGE(fused <= 2 * plain + slack, what, ": ", fused, " against ",
                                  plain);
                }
    MESSAGE("float64: largest distance " << worst64 << " (" << where64 << "); float32: at most "
                                         << worst32 << " times the reference's error (" << where32
                                         << ")");
}

TEST_CASE("the same bits on every instruction set and for any number of threads") {
    for (const int64_t t :
         MERCER_EMULATED ? std::vector<int64_t>{140} : std::vector<int64_t>{140, 300})
        for (const Variant& v : variants(t, 8)) {
            // Two heads: one thread takes them whole, two share the tiles of each.
            std::vector<Tensor> x = in_float32(operands(t, 8, v.extra));
            for (int i = 0; i < 3; ++i) x[size_t(i)] = slice(x[size_t(i)], 0, 0, 1);
            check_same_bits(v.name, [&] { return smoother_results(true, x, v.options); });
        }
}

TEST_CASE("a row of zero weights takes its nearest key, and is counted") {
    const std::vector<Tensor> x{sample(20, {2, 70, 3}, 3), sample(21, {2, 200, 3}, 3),
                                sample(22, {2, 200, 4})};
    SmootherReport fused, plain;
    const auto options = [&](SmootherReport& report) {
        return [&](std::span<const Var>) {
            return SmootherOptions{.kernel = nadaraya_watson(Profile::boxcar, 0.9),
                                   .filter = window(150, 130),
                                   .report = &report};
        };
    };
    const auto a = smoother_results(true, x, options(fused)),
               b = smoother_results(false, x, options(plain));
    CHECK(plain.fallbacks > 3);
    CHECK(fused.fallbacks == plain.fallbacks);
    CHECK(over_all(largest_distance, a, b) < 1e-14);
    // signed weights whose sum is negative
    const auto linear_ = [&](SmootherReport& report) {
        return [&](std::span<const Var>) {
            return SmootherOptions{.kernel = linear(), .report = &report};
        };
    };
    fused = plain = {};
    smoother_results(true, x, linear_(fused)), smoother_results(false, x, linear_(plain));
    CHECK(plain.nonpositive > 3);
    CHECK(fused.nonpositive == plain.nonpositive);
}

TEST_CASE("keys and values in groups, or shared by the batch") {
    for (const auto& lead : std::vector<Shape>{{2, 3}, {2, 1}, {1, 1}, {1, 6}, {6}}) {
        Shape keys = lead, values = lead;
        for (int64_t n : {150, 8}) keys.push_back(n);
        for (int64_t n : {150, 5}) values.push_back(n);
        const std::vector<Tensor> x{sample(20, {2, 6, 90, 8}), sample(21, keys),
                                    sample(22, values)};
        CAPTURE(to_string(keys));
        for (const Kernel& kernel : {dot_product(), rbf(), polynomial(2)}) {
            const auto c = compare_smoothers(x, [&](std::span<const Var>) {
                return SmootherOptions{.kernel = kernel, .filter = causal(60)};
            });
            CHECK(c.float64 < 1e-13);
            CHECK(c.fused32 <= 2 * c.plain32 + 2e-8);
        }
        // each query head beside its keys
        if (lead == Shape{2, 3}) {
            const Tensor out = attend(x[0], x[1], x[2]).value();
            for (int64_t h = 0; h < 6; ++h) {
                const auto head = [](const Tensor& t, int64_t n) { return slice(t, 1, n, n + 1); };
                CHECK(largest_distance(
                          head(out, h),
                          attend(head(x[0], h), head(x[1], h / 2), head(x[2], h / 2)).value()) <
                      1e-15);
            }
        }
    }
}

TEST_CASE("NaN and infinities in hidden keys and values leak nowhere") {
    const double nan = std::nan(""), inf = INFINITY;
    for (const bool fused : {true, false})
        for (const Kernel& kernel : {dot_product(), rbf(), polynomial(2)}) {
            CAPTURE(fused);
            CAPTURE(kernel.name);
            std::vector<Tensor> x{sample(20, {2, 70, 8}), sample(21, {2, 200, 8}),
                                  sample(22, {2, 200, 5})};
            std::vector<Tensor> bad = x;
            bad[1] = x[1].clone(), bad[2] = x[2].clone();
            // key 150 of head 0 and value 155 of head 1: queries from 60 and from 65 on see them
            bad[1].mutable_data<double>()[150 * 8 + 3] = nan;
            bad[2].mutable_data<double>()[(200 + 155) * 5] = inf;
            const Filter filter = causal(90);
            const auto run = [&](const std::vector<Tensor>& at) {
                Tape tape;
                std::vector<Var> v;
                for (const Tensor& t : at) v.push_back(tape.watch(t));
                const SmootherOptions o{.kernel = kernel, .filter = filter};
                const Var out =
                    fused ? attend(v[0], v[1], v[2], o) : attend_reference(v[0], v[1], v[2], o);
                // Rows that see them have no part in the loss.
                Tensor g = sample(25, out.shape());
                Tensor out_of_loss = slice(g, 1, 60, 70);
                (out_of_loss * 0.0).copy_to(out_of_loss);
                SmootherResults r{slice(out.value(), 1, 0, 60)};
                const Tensor finite = all(isfinite(out.value()), {-1}).contiguous();
                for (int64_t r = 0; &at == &bad && r < 140; ++r)
                    CHECK(finite.data<bool>()[r] == (r % 70 < (r < 70 ? 60 : 65)));
                const Var losses[] = {out};
                for (Tensor& d : tape.gradient(losses, v, {.cotangents = {g}}))
                    r.push_back(std::move(d));
                return r;
            };
            const SmootherResults r = run(bad);
            for (const Tensor& t : r) CHECK(all(isfinite(t)).item<bool>());
            const SmootherResults clean = smoother_results(true, x, [&](std::span<const Var>) {
                return SmootherOptions{.kernel = kernel, .filter = filter};
            });
            CHECK(largest_distance(r[0], slice(clean[0], 1, 0, 60)) < 1e-15);
        }
}

TEST_CASE("log-sum-exp and entropy of the weights, and their gradients") {
    const std::vector<Tensor> x{sample(20, {2, 70, 8}), sample(21, {2, 200, 8}),
                                sample(22, {2, 200, 5})};
    for (const Kernel& kernel : {dot_product(), rbf()})
        for (const Filter& filter : {full(), window(40, 60), causal(-10)}) {
            const SmootherOptions o{.kernel = kernel, .filter = filter};
            Tape tape;
            std::vector<Var> v;
            for (const Tensor& t : x) v.push_back(tape.watch(t));
            const Smoothed s = attend_measured(v[0], v[1], v[2], o);
            CHECK(stands_fused(tape));
            const Var z = log_weights(v[0], v[1], o), w = smoother_weights(v[0], v[1], o);
            const Var lse = logsumexp(z, {-1});
            const Var logs = where(greater(w.value(), 0),
                                   log(maximum(w, Var(Tensor::scalar(1e-300, DType::f64)))),
                                   Var(Tensor::scalar(0, DType::f64)));
            const Var entropy = -sum(w * logs, {-1});
            const Tensor seen = isfinite(lse.value());
            const auto shown = [&](const Var& a) {
                return where(seen, a, Var(Tensor::scalar(0, DType::f64)));
            };
            CHECK(difference(isfinite(s.lse.value()), seen) == "");
            CHECK(largest_distance(shown(s.lse).value(), shown(lse).value()) < 1e-14);
            CHECK(largest_distance(s.entropy.value(), entropy.value()) < 1e-13);
            const Tensor gl = sample(30, lse.shape()), ge = sample(31, lse.shape());
            const auto gradient = [&](const Var& a, const Var& b) {
                return tape.gradient(sum(shown(a) * Var(gl)) + sum(b * Var(ge)), {v[0], v[1]});
            };
            const auto got = gradient(s.lse, s.entropy), want = gradient(lse, entropy);
            for (int i = 0; i < 2; ++i)
                CHECK(largest_distance(got[size_t(i)], want[size_t(i)]) < 1e-12);
        }
    CHECK_THROWS_AS(attend_measured(x[0], x[1], x[2], {.kernel = polynomial(2)}), ValueError);
    CHECK_THROWS_AS(attend_measured(x[0], x[1], x[2], {.normaliser = sparsemax_weights()}),
                    ValueError);
}
