// Order: propositions P-A1 … P-A5 of spec A.7 (Tsai et al. 2019, propositions 1 and 2 of section
// 2.3, their proofs and what the proofs leave out), for every kernel. P-A6 is in
// position_encoding_test.cpp: slots are not tokens.
#include "tests/attention/every_kernel.h"
#include "tests/attention/position_support.h"

using namespace mercer;
using namespace mercer::test;

namespace {

constexpr int64_t batch = 2, n = 7, d = 3;

Tensor numbers(std::vector<int64_t> x) { return Tensor::from(x); }
Var permuted(const Var& x, const Tensor& order) { return index_select(x, order, -2); }
std::vector<Tensor> orders() {
    std::vector<Tensor> out{numbers({1, 0, 2, 3, 4, 5, 6}), numbers({6, 5, 4, 3, 2, 1, 0})};
    for (uint64_t s = 0; s < 3; ++s) out.push_back(permutation(Key{5, s}, n));
    return out;
}
Var row(const Var& x, int64_t i) { return slice(x, -2, i, i + 1); }

// Errors grow by Σ|w|/|Σw| where weights have signs.
double tolerance(const Var& q, const Var& k, const SmootherOptions& o) {
    const double most = max(sum(abs(smoother_weights(q, k, o).value()), {-1})).item<double>();
    return 1e-13 * most * most;
}

}  // namespace

TEST_CASE("P-A1, A03, A12: a set's attention moves with its members") {
    for (const int64_t size : {n, int64_t(MERCER_EMULATED ? 20 : 150)}) {  // beyond one tile
        const Tensor x = sample(1, {batch, size, d});
        const std::vector<Tensor> moves =
            size == n ? orders() : std::vector<Tensor>{permutation(Key{6}, size)};
        for (const EveryKernel& each : every_kernel(d)) {
            const SmootherOptions o{.kernel = each.kernel};
            const auto self = [&](const Var& t) { return attend(t, t, t, o); };
            for (const Tensor& order : moves)
                CHECK_MESSAGE(difference(self(permuted(x, order)), permuted(self(x), order)) <
                                  tolerance(x, x, o),
                              each.name);
        }
    }
}

TEST_CASE("P-A2, A10, A27: the order of the keys changes nothing, their places moved with them") {
    const Tensor q = sample(2, {batch, 4, d}), f = sample(3, {batch, n, d}),
                 v = sample(4, {batch, n, 2});
    const Var t = sinusoidal_encoding(Tensor::arange(n), 4, DType::f64),
              w = matmul(t, sample(5, {4, d})), u = matmul(t, sample(6, {4, 2}));
    const auto at_slots = [&](const Var& x, const Var& places) { return x + places; };
    for (const EveryKernel& each : every_kernel(d)) {
        CAPTURE(each.name);
        const SmootherOptions o{.kernel = each.kernel};
        const Var keys = at_slots(f, w), values = at_slots(v, u);  // pairs (f, t)
        const Var before = attend(q, keys, values, o);
        for (const Tensor& order : orders()) {
            CHECK(difference(attend(q, permuted(keys, order), permuted(values, order), o), before) <
                  tolerance(q, keys, o));
            // features moved, places not: another set of pairs
            const bool blind = each.name == "constant";
            CHECK((difference(attend(q, at_slots(permuted(f, order), w), values, o), before) >
                   1e-3) == !blind);
        }
    }
    // Eq. 9: both factors
    const Symmetric scheme{.projected = w};
    const Var x = sample(7, {batch, n, d});
    const Positioned p = joined(scheme, x, x);
    for (const Tensor& order : orders())
        CHECK(difference(attend(p.q, permuted(p.k, order), permuted(v, order)),
                         attend(p.q, p.k, v)) < 1e-13);
}

TEST_CASE("P-A3, A28: a filter by place sees who was exchanged with whom") {
    const Tensor q = sample(8, {batch, n, d}), k = sample(9, {batch, n, d}),
                 v = sample(10, {batch, n, 2});
    struct Case {
        const char* name;
        Filter filter;
        int64_t query, seen, hidden;
    };
    for (const Case& c :
         {Case{"causal", causal(), 3, 1, 5}, Case{"window", window(3), 5, 4, 0},
          Case{"strided", strided_summary(3), 6, 3, 4}, Case{"fixed", fixed_local(4), 6, 5, 2},
          Case{"packed", packed(numbers({0, 3, 7})), 1, 0, 6}})
        for (const EveryKernel& each : every_kernel(d)) {
            CAPTURE(c.name);
            CAPTURE(each.name);
            REQUIRE(c.filter.rule()->sees({0, 0, c.query, c.seen}));
            REQUIRE_FALSE(c.filter.rule()->sees({0, 0, c.query, c.hidden}));
            const SmootherOptions o{.kernel = each.kernel, .filter = c.filter};
            std::vector<int64_t> exchange(n);
            for (int64_t i = 0; i < n; ++i) exchange[size_t(i)] = i;
            std::swap(exchange[size_t(c.seen)], exchange[size_t(c.hidden)]);
            const Tensor order = numbers(exchange);
            const auto moves = [&](const Var& keys, const Var& values,
                                   const SmootherOptions& with) {
                return largest(
                    (row(attend(q, permuted(keys, order), permuted(values, order), with), c.query) -
                     row(attend(q, keys, values, with), c.query))
                        .value());
            };
            // A kernel of compact support may give both no weight: take the pair that it weighs.
            const Var near = each.kernel.score == Kernel::Score::difference ? Var(q) * 0.2 : Var(k);
            CHECK(moves(near, v, o) > 1e-3);
            // the two are alike, in key and value: nothing to see
            const auto alike = [&](const Tensor& x) {
                std::vector<int64_t> twins = exchange;
                twins[size_t(c.hidden)] = twins[size_t(c.seen)] = c.seen;
                return permuted(x, numbers(twins));
            };
            CHECK(moves(alike(near.value()), alike(v), o) == 0);
        }
    // a filter by content moves with the keys: positive first coordinate
    for (const EveryKernel& each : every_kernel(d)) {
        const auto out = [&](const Tensor& keys, const Tensor& values) {
            const std::vector<double> x = keys.to_vector<double>();
            const Filter content =
                filter([x](Seat s) { return x[size_t((s.batch * n + s.key) * d)] > -0.2; }, true);
            return attend(q, keys, values, {.kernel = each.kernel, .filter = content});
        };
        const Var before = out(k, v);
        for (const Tensor& order : orders())
            CHECK_MESSAGE(difference(out(permuted(k, order).value(), permuted(v, order).value()),
                                     before) < 1e3 * tolerance(q, k, {.kernel = each.kernel}),
                          each.name);
    }
}

TEST_CASE(
    "P-A4, P-A5, A29: causal attention knows order; one layer, of the past only its members") {
    const Tensor x = sample(11, {batch, n, d}), past = numbers({2, 0, 3, 1, 4, 5, 6});
    constexpr int64_t last = 4;  // sees the four that were moved, and itself
    for (const EveryKernel& each : every_kernel(d)) {
        CAPTURE(each.name);
        const SmootherOptions o{.kernel = each.kernel, .filter = causal()};
        // signed weights are kept from dividing by nearly nothing: this is of order, not of them
        const Var tokens = each.has_sign ? abs(Var(x)) + 0.5 : Var(x);
        const auto layer = [&](const Var& t) { return attend(t, t, t, o); };
        const Var one = layer(tokens), moved = layer(permuted(tokens, past));
        CHECK(difference(moved, permuted(one, past)) > 1e-3);  // P-A4
        for (int64_t i = last; i < n; ++i)
            CHECK(difference(row(moved, i), row(one, i)) < tolerance(tokens, tokens, o));
        CHECK(difference(row(layer(moved), last), row(layer(one), last)) > 1e-4);  // two layers
    }
}
