// Both orders of derivatives of every position scheme, with respect to queries, keys and all
// parameters, through the smoother; with memory, and with one query.
#include "tests/attention/position_support.h"

using namespace mercer;
using namespace mercer::test;

namespace {

constexpr int64_t heads = 2, d = 4, keys = 3;

// out = softmax(logits)·v for a fixed v, so that −∞ is met as a smoother meets it.
Var smooth(const Position& scheme, const Var& q, const Var& k) {
    static const Tensor v = sample(90, {1, heads, keys, 2});
    return matmul(weights(scheme, q, k), v);
}

struct Sizes {
    int64_t queries;
    Tensor q = sample(1, {1, heads, queries, d}), k = sample(2, {1, heads, keys, d});
    int64_t offset = keys - queries;
};

std::vector<Sizes> sizes() { return {{keys}, {2}, {1}}; }

}  // namespace

TEST_CASE("derivatives: absolute, rotary and sinusoids at real positions") {
    for (const Sizes& s : sizes()) {
        check_gradients("absolute",
                        [](std::span<const Var> x) {
                            return smooth(Absolute{x[2], x[3]}, x[0], x[1]);
                        },
                        {s.q, s.k, sample(3, {s.queries, d}), sample(4, {1, heads, keys, d})});
        for (const PairLayout layout : {PairLayout::halves, PairLayout::interleaved}) {
            check_gradients("rotary",
                            [&](std::span<const Var> x) {
                                return smooth(
                                    Rotary{.layout = layout, .width = 2, .offset = s.offset}, x[0],
                                    x[1]);
                            },
                            {s.q, s.k});
            check_gradients(
                "positions of a rotation",
                [&](std::span<const Var> x) { return rotate_pairs(x[0], x[1], layout, 10); },
                {s.q, sample(5, {s.queries})});
        }
        check_gradients(
            "Eq 5 at real positions",
            [](std::span<const Var> x) { return log_sinusoid_kernel(x[0], x[1], x[2], 10); },
            {s.q, sample(6, {s.queries}), sample(7, {keys})});
    }
}

TEST_CASE("derivatives: Transformer-XL") {
    for (const Sizes& s : sizes())
        for (const bool own : {false, true})
            for (const bool causal : {false, true})
                check_gradients("Transformer-XL",
                                [&](std::span<const Var> x) {
                                    return smooth(TransformerXl{.weight = x[2],
                                                                .u = x[3],
                                                                .v = x[4],
                                                                .clamp_length = own ? 1 : 0,
                                                                .causal = causal},
                                                  x[0], x[1]);
                                },
                                {s.q, s.k, sample(8, own ? Shape{heads, 6, d} : Shape{6, d}),
                                 sample(9, own ? Shape{heads, d} : Shape{d}),
                                 sample(10, own ? Shape{heads, d} : Shape{d})});
}

TEST_CASE("derivatives: tables, and values looked up") {
    for (const Sizes& s : sizes())
        for (const bool own : {false, true}) {
            const auto table = [&](uint64_t stream, int64_t rows, int64_t width) {
                return sample(stream, own ? Shape{heads, rows, width} : Shape{rows, width});
            };
            check_gradients(
                "look-up",
                [&](std::span<const Var> x) {
                    const Lookup scheme{
                        .table = x[2], .values = x[3], .reversed = own, .offset = s.offset};
                    return smooth(scheme, x[0], x[1]) +
                           relative_values(scheme, weights(scheme, x[0], x[1]));
                },
                {s.q, s.k, table(11, 3, d), table(12, 5, 2)});
            check_gradients("skew",
                            [&](std::span<const Var> x) {
                                return smooth(Skew{.table = x[2], .offset = s.offset}, x[0], x[1]);
                            },
                            {s.q, s.k, table(13, keys + 1, d)});
        }
}

TEST_CASE("derivatives: products of kernels, and slopes") {
    for (const Sizes& s : sizes())
        for (const bool own : {false, true}) {
            const Tensor w = sample(14, own ? Shape{heads, 5, 3} : Shape{5, 3});
            check_gradients("Eq 9",
                            [&](std::span<const Var> x) {
                                return smooth(symmetric(x[2], x[3], s.offset), x[0], x[1]);
                            },
                            {s.q, s.k, sample(15, {keys, 5}), w});
            check_gradients("Eq 9 as one product",
                            [&](std::span<const Var> x) {
                                return logits(joined(symmetric(x[2], x[3], s.offset), x[0], x[1]));
                            },
                            {s.q, s.k, sample(15, {keys, 5}), w});
            check_gradients(
                "ALiBi",
                [&](std::span<const Var> x) {
                    return smooth(Alibi{.slopes = square(x[2]), .offset = s.offset, .causal = own},
                                  x[0], x[1]);
                },
                {s.q, s.k, sample(16, own ? Shape{heads} : Shape{})});
        }
    const Sizes s{keys};
    for (const bool own : {false, true}) {
        check_gradients(
            "grid",
            [](std::span<const Var> x) {
                return smooth(Grid{x[2], x[3]}, x[0], x[1]);
            },
            {s.q, s.k, sample(17, own ? Shape{heads, 3, 2} : Shape{3, 2}), sample(18, {1, 2})});
        check_gradients("sum over a grid",
                        [](std::span<const Var> x) { return grid_encoding(x[0], x[1]); },
                        {sample(19, own ? Shape{2, 2, 3} : Shape{2, 3}),
                         sample(20, own ? Shape{2, 3, 3} : Shape{3, 3})});
    }
}
