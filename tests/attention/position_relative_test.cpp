// Relative positions: Eq. 5 and Transformer-XL (A20, A21, G10), tables (A22, A23).
#include "attention/smoother/position/relative.h"
#include "tests/attention/position_support.h"

using namespace mercer;
using namespace mercer::test;

namespace {

constexpr int64_t batch = 2, heads = 3, d = 4;

Tensor queries(int64_t n) { return sample(1, {batch, heads, n, d}); }
Tensor keys(int64_t n) { return sample(2, {batch, heads, n, d}); }

// Lengths of queries and of keys.
struct Lengths {
    int64_t n, m;
};
const std::vector<Lengths> lengths{{5, 5}, {4, 7}, {1, 6}, {1, 1}};

// ⟨c, PE(s)⟩, interleaved, as Eq. 5 has it.
double sinusoids(const double* c, double s, int64_t width) {
    double sum = 0;
    for (int64_t p = 0; p < width / 2; ++p) {
        const double a = s / std::pow(10000.0, 2.0 * double(p) / double(width));
        sum += c[2 * p] * std::sin(a) + c[2 * p + 1] * std::cos(a);
    }
    return sum;
}

Tensor causal_mask(int64_t n, int64_t m, int64_t window = 1 << 30) {
    const int64_t offset = m - n;
    return over_distances({n, m, offset}, [=](int64_t s) { return int64_t(s >= 0 && s < window); });
}

}  // namespace

TEST_CASE("golden number G10: log k_fq of Eq 5") {
    const Tensor c = Tensor::from(std::vector<double>{.1, -.2, .3, .05}, {1, 4});
    for (const double t : {0.0, 4.0, 1000.0}) {
        const Tensor tq = Tensor::full({1}, t + 3, DType::f64),
                     tk = Tensor::full({1}, t, DType::f64);
        CHECK(log_sinusoid_kernel(c, tq, tk).value().item<double>() ==
              doctest::Approx(.2710866518742739).epsilon(1e-12));
    }
    CHECK(sinusoids(c.data<double>(), 3, 4) == doctest::Approx(.2710866518742739).epsilon(1e-14));
}

TEST_CASE("Eq 5 at any positions: the sum of sines and cosines, whatever the origin") {
    const int64_t width = 6;
    const Tensor c = sample(3, {batch, heads, 4, width}), tq = sample(4, {4}) * 30.0,
                 tk = sample(5, {5}) * 30.0;
    const std::vector<double> cs = c.to_vector<double>(), q = tq.to_vector<double>(),
                              k = tk.to_vector<double>();
    const Var got = log_sinusoid_kernel(c, tq, tk);
    check_elements(got, [&](int64_t b, int64_t h, int64_t i, int64_t j) {
        return sinusoids(&cs[size_t(((b * heads + h) * 4 + i) * width)],
                         q[size_t(i)] - k[size_t(j)], width);
    });
    CHECK(difference(log_sinusoid_kernel(c, tq + 512.0, tk + 512.0), got) < 1e-11);
    CHECK(difference(log_sinusoid_kernel(c, tq + 1.0, tk), got) > 1e-3);
}

TEST_CASE("the relative shift is the gather j + T - 1 - i") {
    for (const Lengths& length : lengths) {
        const int64_t n = length.n, m = length.m;
        for (const int64_t columns : {m, m + 1, m + n - 1, m + n + 2}) {
            const Tensor x = sample(6, {batch, heads, n, columns});
            const At at(x);
            check_elements(relative_shift(x, m), [&](int64_t b, int64_t h, int64_t i, int64_t j) {
                const int64_t r = j + n - 1 - i;
                return r < columns ? at(b, h, i, r) : 0;
            });
        }
    }
    CHECK_THROWS_AS(relative_shift(sample(1, {3, 4}), 5), ShapeError);
}

TEST_CASE("Transformer-XL equals the double loop, every option, with memory") {
    const int64_t width = 6;
    const Tensor w = sample(7, {heads, width, d}), shared = sample(8, {width, d}),
                 u = sample(9, {heads, d}), v = sample(10, {heads, d}), one = sample(11, {d});
    struct Case {
        const char* name;
        TransformerXl scheme;
    };
    const std::vector<Case> cases{
        {"full", {.weight = w, .u = u, .v = v}},
        {"shared", {.weight = shared, .u = one, .v = one}},
        {"Tsai", {.weight = w, .scale_positions = false, .layout = EncodingLayout::interleaved}},
        {"clamped", {.weight = w, .u = u, .v = v, .clamp_length = 2}},
        {"causal", {.weight = w, .u = u, .v = v, .causal = true}},
        {"causal, clamped", {.weight = w, .v = v, .clamp_length = 3, .causal = true}}};
    for (const Lengths& length : lengths) {
        const int64_t n = length.n, m = length.m;
        for (const Case& each : cases) {
            const TransformerXl& scheme = each.scheme;
            const Tensor q = queries(n), k = keys(m);
            const At ws(scheme.weight), qs(q), ks(k);
            const Var zero = Tensor::zeros({d}, DType::f64);
            const At us(unsqueeze(scheme.u.defined() ? scheme.u : zero, -2)),
                vs(unsqueeze(scheme.v.defined() ? scheme.v : zero, -2));
            const bool halves = scheme.layout == EncodingLayout::halves;
            const int64_t offset = m - n;
            const auto score = [&](int64_t b, int64_t h, int64_t i, int64_t j) {
                if (scheme.causal && j > i + offset) return -infinity;
                double s = double(i + offset - j), content = 0, position = 0;
                if (const double most = double(scheme.clamp_length); most > 0)
                    s = std::min(std::max(s, -most), most);
                for (int64_t c = 0; c < d; ++c) {
                    double row = 0;  // (W_R PE(s))_c
                    for (int64_t p = 0; p < width / 2; ++p) {
                        const double a = s / std::pow(10000.0, 2.0 * double(p) / double(width));
                        row += ws(0, h, halves ? p : 2 * p, c) * std::sin(a) +
                               ws(0, h, halves ? p + width / 2 : 2 * p + 1, c) * std::cos(a);
                    }
                    content += (qs(b, h, i, c) + us(0, h, 0, c)) * ks(b, h, j, c);
                    position += (qs(b, h, i, c) + vs(0, h, 0, c)) * row;
                }
                const double root = std::sqrt(double(d));
                return content / root + position / (scheme.scale_positions ? root : 1);
            };
            check_elements(logits(place(scheme, q, k)), score, each.name);
        }
    }
    // Tsai's form is Eq 5 with c = q·W_Rᵀ
    const Tensor q = queries(4), k = keys(7);
    const Var eq5 =
        log_sinusoid_kernel(matmul(q, transpose(w)), Tensor::arange(4) + 3.0, Tensor::arange(7));
    CHECK(difference(place(cases[2].scheme, q, k).term(), eq5) < 1e-12);
}

TEST_CASE("Transformer-XL by segments is one long pass, when the memory covers it") {
    const int64_t length = 12, segment = 4, width = 6, features = 5;
    const Tensor x = sample(12, {batch, length, features}), wq = sample(13, {features, d}),
                 wk = sample(14, {features, d}), wv = sample(15, {features, d});
    for (const int64_t clamp_length : {0, 3})
        for (const int64_t window : {int64_t(1) << 30, int64_t(5)}) {
            const TransformerXl scheme{.weight = sample(16, {width, d}),
                                       .u = sample(17, {d}),
                                       .v = sample(18, {d}),
                                       .clamp_length = clamp_length,
                                       .causal = true};
            const auto layer = [&](const Var& current, const Var& all) {
                const Positioned p = place(scheme, matmul(current, wq), matmul(all, wk));
                const Tensor hidden = equal(causal_mask(current.size(-2), all.size(-2), window), 0);
                return matmul(softmax(masked_fill(logits(p), hidden, -infinity), -1),
                              matmul(all, wv));
            };
            const Var whole = layer(x, x);
            Var memory;
            for (int64_t at = 0; at < length; at += segment) {
                const Var current = slice(x, 1, at, at + segment);
                const Var all = with_memory(memory, current);
                CHECK(difference(layer(current, all), slice(whole, 1, at, at + segment)) < 1e-12);
                memory = all;
            }
            if (window > length) continue;
            // evaluation, token by token: every query sees `window` keys (same-length mask)
            for (int64_t at = window; at < length; ++at) {
                const Var current = slice(x, 1, at, at + 1);
                const Var all = with_memory(slice(x, 1, at - window + 1, at), current);
                CHECK(difference(layer(current, all), slice(whole, 1, at, at + 1)) < 1e-12);
            }
        }
    Tape tape;
    const Var past = tape.watch(sample(19, {3, d})), now = tape.watch(sample(20, {2, d}));
    const auto [g, h] = tape.gradient(sum(square(with_memory(past, now))), {past, now});
    CHECK(largest(g) == 0);
    CHECK(largest(h) > 0);
}

TEST_CASE("Shaw's look-up equals the double loop, every option") {
    struct Case {
        const char* name;
        Lookup scheme;
    };
    const Tensor own = sample(21, {heads, 7, d}), shared = sample(22, {7, d}),
                 wide = sample(23, {13, d});
    std::vector<Case> cases{{"heads", {.table = own, .values = sample(24, {heads, 5, 3})}},
                            {"shared", {.table = shared, .values = sample(25, {3, 2})}},
                            {"Tsai", {.table = wide, .reversed = true, .scaled = false}},
                            {"one row", {.table = sample(26, {1, d})}}};
    for (Case& one : cases)
        for (const Lengths& length : lengths) {
            const int64_t n = length.n, m = length.m;
            Lookup& scheme = one.scheme;
            const int64_t offset = m - n;
            scheme.offset = offset;
            const Tensor q = queries(n), k = keys(m);
            const At qs(q), table(scheme.table);
            const auto row = [&](int64_t i, int64_t j, int64_t c) {
                const int64_t s = scheme.reversed ? i + offset - j : j - i - offset;
                return c + std::min(std::max(s, -c), c);
            };
            const Positioned p = place(scheme, q, k);
            check_elements(
                p.term(),
                [&](int64_t b, int64_t h, int64_t i, int64_t j) {
                    double s = 0;
                    for (int64_t e = 0; e < d; ++e)
                        s += qs(b, h, i, e) * table(0, h, row(i, j, scheme.table.size(-2) / 2), e);
                    return scheme.scaled ? s / std::sqrt(double(d)) : s;
                },
                one.name);
            CHECK(difference(p.q, q) == 0);
            CHECK(difference(p.k, k) == 0);
            if (!scheme.values.defined()) continue;
            const Var w = softmax(logits(p), -1);
            const At ws(w), values(scheme.values);
            check_elements(
                relative_values(scheme, w),
                [&](int64_t b, int64_t h, int64_t i, int64_t e) {
                    double s = 0;
                    for (int64_t j = 0; j < m; ++j)
                        s +=
                            ws(b, h, i, j) * values(0, h, row(i, j, scheme.values.size(-2) / 2), e);
                    return s;
                },
                one.name);
        }
    // beyond the clip, distances share a row
    const Var term = place(Lookup{.table = shared}, queries(9), keys(9)).term();
    for (int64_t i = 0; i < 9; ++i) {
        const Var one = slice(term, -2, i, i + 1);
        for (int64_t j = 0; j < 9; ++j)
            if (const int64_t end = j < i ? 0 : 8; std::abs(i - j) >= 3)
                CHECK(difference(slice(one, -1, j, j + 1), slice(one, -1, end, end + 1)) == 0);
    }
}

TEST_CASE("Music Transformer's skew is the look-up, under a causal mask") {
    for (const Lengths& length : lengths) {
        const int64_t n = length.n, m = length.m;
        for (const Tensor& table : {sample(27, {heads, 7, d}), sample(28, {9, d})}) {
            const Tensor q = queries(n), k = keys(m);
            const int64_t rows = table.size(-2);
            // the look-up's table: row c + s for j − i = s ≤ 0; the rest is hidden
            const Tensor none = Tensor::zeros(
                Shape(table.rank() == 3 ? Shape{heads, rows - 1, d} : Shape{rows - 1, d}),
                DType::f64);
            const Lookup lookup{.table = concat({table, none}, -2), .offset = m - n};
            const At want(place(lookup, q, k).term());
            check_elements(place(Skew{.table = table, .offset = m - n}, q, k).term(),
                           [&](int64_t b, int64_t h, int64_t i, int64_t j) {
                               return j > i + m - n ? -infinity : want(b, h, i, j);
                           });
        }
    }
}

TEST_CASE("errors of relative schemes name the shapes and the fix") {
    const Tensor q = queries(3), k = keys(5), w = sample(7, {6, d});
    CHECK_THROWS_AS(place(TransformerXl{.weight = w}, k, q), ShapeError);  // fewer keys
    CHECK_THROWS_AS(place(TransformerXl{}, q, k), ShapeError);
    CHECK_THROWS_AS(place(TransformerXl{.weight = sample(7, {6, d + 1})}, q, k), ShapeError);
    CHECK_THROWS_AS(place(TransformerXl{.weight = sample(7, {5, d})}, q, k), ShapeError);  // odd
    CHECK_THROWS_AS(place(TransformerXl{.weight = sample(7, {heads + 1, 6, d})}, q, k), ShapeError);
    CHECK_THROWS_AS(place(TransformerXl{.weight = w, .u = sample(8, {2, d})}, q, k), ShapeError);
    CHECK_THROWS_AS(place(TransformerXl{.weight = w}, sample(1, {d}), k), ShapeError);
    CHECK_THROWS_AS(place(Lookup{.table = sample(8, {6, d}), .offset = 0}, q, k), ShapeError);
    CHECK_THROWS_AS(relative_values(Lookup{.offset = 0}, sample(8, {3, 5})), ShapeError);
    CHECK_THROWS_AS(relative_values(Lookup{.values = sample(8, {3, 2})}, sample(8, {3, 5})),
                    ShapeError);
    CHECK_THROWS_AS(place(Skew{.table = sample(8, {4, d}), .offset = 2}, q, k),
                    ShapeError);  // short
    CHECK_THROWS_AS(place(Skew{.table = sample(8, {9, d}), .offset = 0}, q, k), ShapeError);
    CHECK_THROWS_AS(place(Skew{.table = sample(8, {9, d}), .offset = -2}, k, q), ShapeError);
    const std::string said = message_of<ShapeError>([&] {
        place(Lookup{.table = sample(8, {7, d})}, q, k);
    });
    for (const char* part : {"[lookup]", "3 queries", "5 keys", "offset"})
        CHECK_MESSAGE(said.find(part) != std::string::npos, said);
}
