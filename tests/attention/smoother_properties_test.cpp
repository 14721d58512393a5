// What holds of every kernel: Definition 1 and its consequences (spec A.1), filters in time.
#include "tests/attention/every_kernel.h"
#include "tests/attention/position_support.h"
#include "tests/support/emulated.h"

using namespace mercer;
using namespace mercer::test;

namespace {

constexpr int64_t batch = 2, d = 3;

Tensor sample_of(uint64_t stream, int64_t n, int64_t width = d) {
    return sample(stream, {batch, n, width});
}

// Σ|w| of each row, 1 for weights without sign: how much rounding errors grow.
double condition(const Tensor& weights) {
    return weights.count() ? max(sum(abs(weights), {-1})).item<double>() : 1;
}

struct NamedNormaliser {
    std::string name;
    Normaliser normaliser;
};
struct NamedFilter {
    std::string name;
    Filter filter;
};

std::vector<NamedNormaliser> normalisers(const Kernel& kernel) {
    if (kernel.direct) return {{"division", division()}};
    return {{"softmax", softmax_weights()},
            {"sparsemax", sparsemax_weights()},
            {"entmax 1.5", entmax15_weights()},
            {"entmax 1.2", entmax_weights(Tensor::scalar(1.2, DType::f64))}};
}

std::vector<NamedFilter> filters(int64_t keys) {
    return {{"full", full()},
            {"causal", causal()},
            {"window", window(3)},
            {"strided", strided(3)},
            {"fixed", fixed(4, 1)},
            {"padding", padding(Tensor::from(std::vector<int64_t>{keys, keys / 2}))},
            {"some see nothing", causal(-2)}};
}

}  // namespace

TEST_CASE("A01: rows sum to one, constants are kept, outputs lie in the hull of what is seen") {
    const int64_t n = 8;
    const Tensor q = sample_of(1, n), k = sample_of(2, n), v = sample_of(3, n, 2),
                 constant = Tensor::full({batch, n, 2}, 2.5, DType::f64);
    for (const EveryKernel& each : every_kernel(d))
        for (const NamedNormaliser& rule : normalisers(each.kernel))
            for (const NamedFilter& by : filters(n)) {
                CAPTURE(each.name);
                CAPTURE(rule.name);
                CAPTURE(by.name);
                const SmootherOptions o{
                    .kernel = each.kernel, .filter = by.filter, .normaliser = rule.normaliser};
                const Tensor w = smoother_weights(q, k, o).value(),
                             mask = broadcast_to(visible(by.filter, w.shape()), w.shape()),
                             sees = any(mask, {-1}, true), one = cast(sees, DType::f64);
                const double tolerance = 1e-14 * condition(w);
                CHECK(largest(sum(w, {-1}, true) - one) < tolerance);
                CHECK(largest(where(mask, Tensor::zeros({}, DType::f64), w)) == 0);
                CHECK(largest(attend(q, k, constant, o).value() - one * 2.5) < 4 * tolerance);
                if (each.has_sign) continue;
                CHECK(min(w).item<double>() >= 0);
                // the hull of the visible values, by coordinates: [B, Tq, 1 → Tk, 2]
                const Tensor seen = unsqueeze(mask, -1), values = unsqueeze(v, 1);
                const auto limit = [&](double hidden) {
                    return where(seen, values, Tensor::scalar(hidden, DType::f64));
                };
                const Tensor out = attend(q, k, v, o).value(), high = max(limit(-infinity), {-2}),
                             low = min(limit(infinity), {-2});
                const auto outside = [&](const Tensor& beyond) {
                    return largest(where(sees, relu(beyond), Tensor::zeros({}, DType::f64)));
                };
                CHECK(outside(out - high) < 1e-14);
                CHECK(outside(low - out) < 1e-14);
            }
}

TEST_CASE("A01: a positive factor of the query changes nothing") {
    const Tensor q = sample_of(4, 5), k = sample_of(5, 7), v = sample_of(6, 7);
    constexpr auto both = Kernel::Norms::both;
    const auto out = [&](const Kernel& kernel) { return attend(q, k, v, {.kernel = kernel}); };
    const Var logs = out(log_kernel<both>([](auto s, auto, auto b) { return s - b * 0.3; }));
    CHECK(difference(out(log_kernel<both>(
                         [](auto s, auto a, auto b) { return s - b * 0.3 + sin(a) * 5.0; })),
                     logs) < 1e-13);
    const Var direct = out(direct_kernel<both>([](auto s, auto, auto b) { return s * s + b; }));
    CHECK(difference(out(direct_kernel<both>(
                         [](auto s, auto a, auto b) { return (s * s + b) * (0.1 + a * a); })),
                     direct) < 1e-13);
    CHECK(difference(logs, direct) > 1e-3);
}

TEST_CASE("A04, A09: lengths apart; rows that see nothing are zeros with zero gradients") {
    const Tensor q = sample_of(7, 5), k = sample_of(8, 3), v = sample_of(9, 3, 4);
    for (const EveryKernel& each : every_kernel(d))
        for (const NamedNormaliser& rule : normalisers(each.kernel)) {
            CAPTURE(each.name);
            CAPTURE(rule.name);
            const SmootherOptions o{
                .kernel = each.kernel, .filter = causal(-3), .normaliser = rule.normaliser};
            Tape tape;
            const Var a = tape.watch(q), b = tape.watch(k), c = tape.watch(v);
            const Var out = attend(a, b, c, o);
            REQUIRE(out.shape() == Shape{batch, 5, 4});
            CHECK(largest(slice(out.value(), 1, 0, 3)) == 0);
            CHECK(difference(slice(out, 1, 3, 4), slice(Var(v), 1, 0, 1)) < 1e-14);  // sees one
            const auto g = tape.gradient(sum(square(out)), {a, b, c});
            CHECK(largest(slice(g[0], 1, 0, 3)) == 0);
            for (const Tensor& x : g) CHECK(all(isfinite(x)).item<bool>());
            CHECK(largest(slice(g[1], 1, 2, 3)) == 0);  // the last key is seen by nobody
            CHECK(largest(slice(g[2], 1, 2, 3)) == 0);
        }
}

static void check_prefix(int64_t n, int64_t past) {
    const Tensor q = sample_of(10, n), k = sample_of(11, n), v = sample_of(12, n);
    const auto with_other_end = [&](const Tensor& x, uint64_t stream) {
        return concat({slice(x, 1, 0, past), sample_of(stream, n - past) * 3.0}, 1);
    };
    const Tensor k2 = with_other_end(k, 13), v2 = with_other_end(v, 14);
    const auto begin = [&](const auto& x) { return slice(x, 1, 0, past); };
    for (const EveryKernel& each : every_kernel(d))
        for (const NamedFilter& by : {NamedFilter{"causal", causal()},
                                      {"window", window(3)},
                                      {"strided", strided(3)},
                                      {"fixed", fixed(4, 2)}}) {
            CAPTURE(each.name);
            CAPTURE(by.name);
            const SmootherOptions o{.kernel = each.kernel, .filter = by.filter};
            const auto out = [&](const Tensor& a, const Tensor& b, const Tensor& c) {
                return begin(attend(a, b, c, o).value());
            };
            const Tensor whole = out(q, k, v);
            CHECK(largest(out(q, k2, v2) - whole) == 0);
            CHECK(largest(out(begin(q), begin(k), begin(v)) - whole) < 1e-13 * largest(whole));
            Tape tape;
            const Var b = tape.watch(k), c = tape.watch(v);
            const auto g = tape.gradient(sum(square(begin(attend(q, b, c, o)))), {b, c});
            for (const Tensor& x : g) CHECK(largest(slice(x, 1, past, n)) == 0);
            CHECK(largest(begin(g[1])) > 1e-3);
        }
}

TEST_CASE("A05: what comes later changes nothing before, and gets no gradient from there") {
    check_prefix(9, 5);
    if (!MERCER_EMULATED) check_prefix(150, 70);  // beyond one tile
}

static void check_memory(int64_t memory, int64_t n) {
    const Tensor past = sample_of(15, memory), x = sample_of(16, n), v = sample_of(17, memory + n);
    for (const EveryKernel& each : every_kernel(d)) {
        CAPTURE(each.name);
        Tape tape;
        const Var m = tape.watch(past), current = tape.watch(x);
        const Var keys = with_memory(m, current);
        const Var out =
            attend(current, keys, v, {.kernel = each.kernel, .filter = xl_memory(memory)});
        const Var whole =
            attend(keys.detach(), keys.detach(), v, {.kernel = each.kernel, .filter = causal()});
        CHECK(difference(out, slice(whole, 1, memory, memory + n)) < 1e-12);
        const auto [gm, gx] = tape.gradient(sum(square(out)), {m, current});
        CHECK(largest(gm) == 0);
        CHECK((largest(gx) > 1e-6) == !(each.name == "boxcar" || each.name == "constant"));
    }
}

TEST_CASE("A06: attention with a memory is causal attention over both, without its gradient") {
    check_memory(4, 5);
    if (!MERCER_EMULATED) check_memory(100, 45);
}

TEST_CASE("A14: sums that are not positive are counted") {
    const int64_t n = 12;
    const Tensor q = sample_of(40, n), k = sample_of(41, n), v = sample_of(42, n);
    for (const EveryKernel& each : every_kernel(d)) {
        if (!each.kernel.direct) continue;
        for (const NamedFilter& by : filters(n)) {
            SmootherReport report;
            attend(q, k, v, {.kernel = each.kernel, .filter = by.filter, .report = &report});
            const Tensor w = kernel_values(each.kernel, q, k).value(),
                         mask = broadcast_to(visible(by.filter, w.shape()), w.shape()),
                         seen = where(mask, w, Tensor::zeros({}, DType::f64)),
                         nothing = logical_not(any(not_equal(seen, 0), {-1})),
                         below = less_equal(sum(seen, {-1}), 0);
            const auto count = [](const Tensor& x) { return count_nonzero(x).item<int64_t>(); };
            CHECK_MESSAGE(report.nonpositive == count(logical_and(below, logical_not(nothing))),
                          each.name, ", ", by.name);
            CHECK_MESSAGE(report.fallbacks == count(logical_and(nothing, any(mask, {-1}))),
                          each.name, ", ", by.name);
            if (each.name == "linear") CHECK(report.nonpositive > 0);
            if (!each.has_sign) CHECK(report.nonpositive == 0);
        }
    }
}

TEST_CASE("A13: modalities of other lengths; one that is zero has no influence") {
    // language asks video and audio; each has a width and a length of its own
    const int64_t language = 5, video = 9, audio = 3;
    const Tensor l = sample_of(18, language, 4), wv = sample(19, {6, d}), wa = sample(20, {2, d}),
                 uv = sample(21, {6, 4}), ua = sample(22, {2, 4}), wl = sample(23, {4, d});
    const Tensor seen = sample_of(24, video, 6), heard = sample_of(25, audio, 2);
    for (const EveryKernel& each : every_kernel(d)) {
        CAPTURE(each.name);
        const SmootherOptions o{.kernel = each.kernel};
        const auto from = [&](const Var& q, const Var& x, const Tensor& w, const Tensor& u,
                              const SmootherOptions& options) {
            return attend(matmul(q, wl), matmul(x, w), matmul(x, u), options);
        };
        const Var one = from(l, seen, wv, uv, o), two = from(l, heard, wa, ua, o);
        CHECK(one.shape() == Shape{batch, language, 4});
        // zeroed, its part is zero whatever is asked, and gives the question no gradient
        Tape tape;
        const Var q = tape.watch(l), silence = tape.watch(Tensor::zeros(heard.shape(), DType::f64));
        const Var nothing = from(q, silence, wa, ua, o);
        CHECK(largest(nothing.value()) == 0);
        CHECK(largest(tape.gradient(sum(nothing), {q})[0]) == 0);
        CHECK(difference(one + nothing, one) == 0);
        CHECK(difference(one + two, one) > 1e-3);
        // as keys of one sequence, it is hidden by a filter: no weight, no gradient
        const Var x = tape.watch(concat({matmul(seen, wv), matmul(heard, wa)}, 1)),
                  values = tape.watch(concat({matmul(seen, uv), matmul(heard, ua)}, 1));
        SmootherOptions hidden = o;
        hidden.filter = padding(Tensor::from(std::vector<int64_t>{video, video}));
        const Var alone = attend(matmul(l, wl), x, values, hidden);
        CHECK(difference(alone, one) < 1e-13);
        for (const Tensor& g : tape.gradient(sum(square(alone)), {x, values}))
            CHECK(largest(slice(g, 1, video, video + audio)) == 0);
    }
}

TEST_CASE("A15: rows of the polynomial kernel do not feel the queries' norms") {
    const Tensor q = sample_of(26, 5), k = sample_of(27, 7), v = sample_of(28, 7);
    const Tensor scale = exp(sample_of(29, 5, 1) * 3.0);
    for (const Kernel& kernel : {polynomial(2), polynomial(4), linear()}) {
        const double tolerance = 1e-13 * condition(smoother_weights(q, k, {kernel}).value());
        CHECK(difference(attend(q * scale, k, v, {kernel}), attend(q, k, v, {kernel})) < tolerance);
    }
    CHECK(difference(attend(q * scale, k, v), attend(q, k, v)) > 1e-3);
}

TEST_CASE("A16: rbf weights are a softmax of 2<q,k> - |k|^2; of equal norms, the dot product's") {
    const double root = std::sqrt(double(d));
    const Tensor q = sample_of(30, 6), k = sample_of(31, 8);
    const Var norms = transpose(sum(square(Var(k)), {-1}, true)), dots = matmul(q, transpose(k));
    CHECK(difference(smoother_weights(q, k, {.kernel = rbf()}),
                     softmax((dots * 2.0 - norms) / root)) < 1e-12);
    CHECK(difference(smoother_weights(q, k, {.kernel = rbf_similarity()}),
                     softmax((dots - norms / 2.0) / root)) < 1e-12);
    const Var unit = Var(k) / sqrt(sum(square(Var(k)), {-1}, true));
    CHECK(difference(smoother_weights(q, unit * 1.7, {.kernel = rbf_similarity()}),
                     smoother_weights(q, unit * 1.7, {.kernel = dot_product()})) < 1e-12);
    CHECK(difference(smoother_weights(q, k, {.kernel = rbf_similarity()}),
                     smoother_weights(q, k, {.kernel = dot_product()})) > 1e-3);
}
