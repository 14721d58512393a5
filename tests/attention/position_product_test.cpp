// Products of kernels and rotations: Eq. 9 (A24, A25), grids (A11), rotary, ALiBi, the choice.
#include "engine/functions.h"
#include "tests/attention/position_support.h"

using namespace mercer;
using namespace mercer::test;

namespace {

constexpr int64_t batch = 2, heads = 3, d = 4;

Tensor queries(int64_t n) { return sample(1, {batch, heads, n, d}); }
Tensor keys(int64_t n) { return sample(2, {batch, heads, n, d}); }

Var encoding(int64_t n, int64_t width) {
    return sinusoidal_encoding(Tensor::arange(n), width, DType::f64);
}

// How often the tape has multiplied matrices.
int products(const Tape& tape) {
    int n = 0;
    for (size_t i = 0; i < tape.operations(); ++i)
        n += std::string(tape.operation(i).name) == "matmul";
    return n;
}

}  // namespace

TEST_CASE("Eq 9 is the product of two exponential kernels, and one joint inner product") {
    const Tensor weight = sample(3, {heads, 6, d}), shared = sample(4, {6, d});
    for (const auto& [n, m, offset] :
         std::vector<std::array<int64_t, 3>>{{5, 5, 0}, {3, 7, 4}, {1, 4, 3}, {1, 1, 0}})
        for (const Tensor& w : {weight, shared}) {
            const Tensor q = queries(n), k = keys(m);
            const Var t = encoding(8, 6);
            const Symmetric scheme = symmetric(t, w, offset);
            const At qs(q), ks(k), ts(matmul(t, w));
            const auto product = [&, offset = offset](int64_t b, int64_t h, int64_t i, int64_t j) {
                double f = 0, p = 0;
                for (int64_t c = 0; c < d; ++c) {
                    f += qs(b, h, i, c) * ks(b, h, j, c);
                    p += ts(0, h, i + offset, c) * ts(0, h, j, c);
                }
                return std::exp(f / 2) * std::exp(p / 2);  // √d = 2
            };
            check_elements(exp(logits(place(scheme, q, k))), product);
            const Positioned one = joined(scheme, q, k);
            CHECK_FALSE(one.term().defined());
            check_elements(exp(logits(one)), product);
        }
    // positions of another width than the features
    const Symmetric wide = symmetric(encoding(5, 6), sample(5, {6, 7}));
    CHECK(difference(logits(joined(wide, queries(5), keys(5))),
                     logits(place(wide, queries(5), keys(5)))) < 1e-12);
}

TEST_CASE("Eq 9: a symmetric Gram matrix, positive semidefinite") {
    const int64_t n = 24;
    const Var f = sample(6, {n, d});
    const Tensor gram =
        exp(logits(place(symmetric(encoding(n, 6), sample(7, {6, d}) * 0.3), f, f))).value();
    CHECK(largest(gram - transpose(gram)) <= 1e-14 * largest(gram));
    const Tensor values = eigh((gram + transpose(gram)) * 0.5).first;
    const double most = max(values).item<double>(), least = min(values).item<double>();
    CHECK(least >= -64.0 * double(n) * std::numeric_limits<double>::epsilon() * most);
}

TEST_CASE("Eq 9: t W_T is computed once, and two matrices are two thirds of Eq 5's three") {
    const Tensor f = sample(8, {5, d}), t = encoding(5, d).value();
    Tape tape;
    const Var wf = tape.watch(sample(9, {d, d})), wt = tape.watch(sample(10, {d, d}));
    const Symmetric scheme = symmetric(t, wt);
    const int once = products(tape);
    Var total = Tensor::scalar(0, DType::f64);
    for (int call = 0; call < 3; ++call) {  // one projection, its product only in each call
        const Var features = matmul(f, wf);
        total = total + sum(logits(place(scheme, features, features)));
    }
    CHECK(once == 1);
    CHECK(products(tape) == once + 3 * 3);
    const auto nine = tape.gradient(total, {wf, wt});

    Tape other;
    const Var wq = other.watch(sample(9, {d, d})), wk = other.watch(sample(10, {d, d})),
              wr = other.watch(sample(11, {d, d}));
    const Positioned p = place(TransformerXl{.weight = wr}, matmul(f, wq), matmul(f, wk));
    const auto five = other.gradient(sum(logits(p)), {wq, wk, wr});
    const auto learned = [](const auto& gradients) {
        int64_t n = 0;
        for (const Tensor& g : gradients) n += largest(g) > 0 ? g.count() : 0;
        return n;
    };
    CHECK(3 * learned(nine) == 2 * learned(five));
}

TEST_CASE("a grid's kernel is the product of features', rows' and columns'") {
    const int64_t height = 3, width = 4, n = height * width;
    const Tensor q = queries(n), k = keys(n);
    for (const bool own : {false, true}) {
        const Var rows = own ? sample(12, {heads, height, 5}) : sample(13, {height, 5}),
                  columns = own ? sample(14, {heads, width, 6}) : sample(15, {width, 6});
        const At rs(rows), cs(columns), qs(q), ks(k);
        const auto factor = [](const At& x, int64_t h, int64_t i, int64_t j) {
            return std::exp(dot(x, x, 0, h, i, j) / 2);
        };
        check_elements(exp(logits(place(Grid{rows, columns}, q, k))), [&](int64_t b, int64_t h,
                                                                          int64_t i, int64_t j) {
            return std::exp(dot(qs, ks, b, h, i, j) / 2) * factor(rs, h, i / width, j / width) *
                   factor(cs, h, i % width, j % width);
        });
    }
    // sinusoids as they are: moving the grid by rows or by columns changes nothing
    const auto term = [&](double down, double right) {
        const Grid grid{sinusoidal_encoding(Tensor::arange(height) + down, 6, DType::f64),
                        sinusoidal_encoding(Tensor::arange(width) + right, 6, DType::f64)};
        return place(grid, q, k).term();
    };
    CHECK(difference(term(7, 0), term(0, 0)) < 1e-12);
    CHECK(difference(term(0, -2), term(0, 0)) < 1e-12);
    CHECK(difference(place(Grid{sample(13, {height, 5}), sample(15, {width, 6})}, q, k).term(),
                     term(0, 0)) > 1e-3);

    const Tensor h = sample(16, {batch, height, d}), w = sample(17, {batch, width, d});
    const At hs(unsqueeze(h, 1)), ws(unsqueeze(w, 1));
    check_elements(unsqueeze(grid_encoding(h, w), 1),
                   [&](int64_t b, int64_t, int64_t i, int64_t c) {
                       return hs(b, 0, i / width, c) + ws(b, 0, i % width, c);
                   });
}

TEST_CASE("rotary: pairs are turned by t/base^(2p/d)") {
    const int64_t n = 5;
    const Tensor x = queries(n), t = sample(18, {n}) * 20.0;
    const At at(x);
    const std::vector<double> ts = t.to_vector<double>();
    for (const PairLayout layout : {PairLayout::halves, PairLayout::interleaved})
        for (const int64_t width : {4, 2})
            check_elements(rotate_pairs(x, t, layout, 100, width), [&](int64_t b, int64_t h,
                                                                       int64_t i, int64_t c) {
                if (c >= width) return at(b, h, i, c);
                const bool halves = layout == PairLayout::halves;
                const int64_t p = halves ? c % (width / 2) : c / 2;
                const bool second = halves ? c >= width / 2 : c % 2;
                const double a = ts[size_t(i)] / std::pow(100.0, 2.0 * double(p) / double(width));
                const double one = at(b, h, i, halves ? p : 2 * p),
                             two = at(b, h, i, halves ? p + width / 2 : 2 * p + 1);
                return second ? one * std::sin(a) + two * std::cos(a)
                              : one * std::cos(a) - two * std::sin(a);
            });
    // positions of a batch; the layouts are one up to a permutation
    const Tensor each = sample(19, {batch, 1, n});
    const Tensor columns = Tensor::from(std::vector<int64_t>{0, 2, 1, 3});
    CHECK(difference(index_select(rotate_pairs(x, each, PairLayout::interleaved), columns, -1),
                     rotate_pairs(index_select(x, columns, -1), each, PairLayout::halves)) == 0);
    CHECK(difference(sum(square(rotate_pairs(x, each, PairLayout::halves)), {-1}),
                     sum(square(x), {-1})) < 1e-14);
}

TEST_CASE("rotary: scores depend on the distance only, and decoding is the long pass") {
    const int64_t n = 6;
    // the same query and key at every place: scores are constant along diagonals
    const Var q = broadcast_to(sample(20, {1, d}), {n, d}),
              k = broadcast_to(sample(21, {1, d}), {n, d});
    for (const PairLayout layout : {PairLayout::halves, PairLayout::interleaved}) {
        const Var score = logits(place(rotary(layout), q, k));
        CHECK(difference(slice(slice(score, 0, 1, n), 1, 1, n),
                         slice(slice(score, 0, 0, n - 1), 1, 0, n - 1)) < 1e-14);
        CHECK(largest((slice(score, 1, 1, n) - slice(score, 1, 0, n - 1)).value()) > 1e-3);
        const Tensor queries_ = queries(n), keys_ = keys(n);
        const Var whole = logits(place(rotary(layout), queries_, keys_));
        for (const int64_t last : {0, 3, 5}) {
            Rotary scheme = rotary(layout);
            scheme.offset = last;
            const Var one = logits(
                place(scheme, slice(queries_, -2, last, last + 1), slice(keys_, -2, 0, last + 1)));
            const Var row = slice(slice(whole, -2, last, last + 1), -1, 0, last + 1);
            CHECK(difference(one, row) < 1e-14);
        }
    }
}

TEST_CASE("ALiBi: the paper's slopes and biases") {
    const Tensor eight = alibi_slopes(8);
    for (int64_t h = 0; h < 8; ++h)  // 1/2, 1/4, …, 1/256
        CHECK(eight.to_vector<double>()[size_t(h)] == std::ldexp(1.0, -int(h) - 1));
    const std::vector<double> twelve = alibi_slopes(12).to_vector<double>();
    for (int64_t h = 0; h < 8; ++h) CHECK(twelve[size_t(h)] == std::ldexp(1.0, -int(h) - 1));
    for (int64_t h = 0; h < 4; ++h)  // the odd ones of sixteen: 2^(−1/2), 2^(−3/2), …
        CHECK(twelve[size_t(8 + h)] ==
              doctest::Approx(std::sqrt(0.5) * std::ldexp(1.0, -int(h))).epsilon(1e-15));
    CHECK(alibi_slopes(1).to_vector<double>() == std::vector<double>{1.0 / 256});
    CHECK(alibi_slopes(16).to_vector<double>()[0] == doctest::Approx(std::sqrt(0.5)));
    CHECK(alibi_slopes(3).to_vector<double>() == std::vector<double>{0.0625, 0.00390625, 0.25});

    const std::vector<double> m = alibi_slopes(heads).to_vector<double>();
    for (const auto& [n, k, offset] :
         std::vector<std::array<int64_t, 3>>{{4, 4, 0}, {3, 5, 2}, {1, 6, 5}, {5, 3, 0}, {1, 1, 0}})
        for (const bool causal : {false, true}) {
            Alibi scheme = alibi(heads, offset);
            scheme.causal = causal;
            const Var term = place(scheme, queries(n), keys(k)).term();
            check_elements(unsqueeze(term, 0),
                           [&, offset = offset](int64_t, int64_t h, int64_t i, int64_t j) {
                               if (causal && j > i + offset) return -infinity;
                               return -m[size_t(h)] * double(std::abs(i + offset - j));
                           });
        }
    const Var one =
        place(Alibi{.slopes = Tensor::scalar(0.5)}, sample(1, {2, 3, d}), sample(2, {2, 3, d}))
            .term();
    CHECK(one.shape() == Shape{3, 3});
    CHECK(one.dtype() == DType::f64);
}

TEST_CASE("any scheme can be chosen, on tensors with and without heads, in f32 too") {
    const int64_t n = 6;
    const auto choices = [&](DType t) {
        const auto param = [&](uint64_t stream, const Shape& shape) {
            return Var(cast(sample(stream, shape), t));
        };
        return std::vector<Position>{
            NoPosition{},
            Absolute{param(30, {n, d}), param(31, {n, d})},
            TransformerXl{.weight = param(32, {6, d}), .u = param(33, {d}), .v = param(34, {d})},
            Lookup{.table = param(35, {5, d})},
            Skew{.table = param(36, {n, d})},
            Symmetric{.projected = param(37, {n, d})},
            Grid{param(38, {2, d}), param(39, {3, d})},
            Rotary{},
            alibi(1)};
    };
    const std::vector<Position> wide = choices(DType::f64), narrow = choices(DType::f32);
    for (size_t c = 0; c < wide.size(); ++c) {
        CAPTURE(c);
        const Tensor q = sample(1, {2, n, d}), k = sample(2, {2, n, d});
        const Var w = weights(wide[c], q, k);
        REQUIRE(w.shape() == Shape{2, n, n});
        CHECK(largest((sum(w, {-1}) - 1.0).value()) < 1e-14);
        const Var plain = weights(NoPosition{}, q, k);
        CHECK((difference(w, plain) > 1e-4) == (c > 0));
        const auto split = [&](const Tensor& x) { return unsqueeze(x, 1); };
        CHECK(difference(squeeze(weights(wide[c], split(q), split(k)), 1), w) == 0);
        // views with the axes in another order
        const auto turned = [](const Tensor& x) {
            return permute(permute(x, {1, 2, 0}).contiguous(), {2, 0, 1});
        };
        CHECK_FALSE(turned(q).is_contiguous());
        CHECK(difference(weights(wide[c], turned(q), turned(k)), w) < 1e-15);
        for (const int64_t b : {int64_t(0), int64_t(3)})  // an empty batch; any leading axes
            CHECK(
                weights(wide[c], sample(1, {b, 2, 1, n, d}), sample(2, {b, 2, 1, n, d})).shape() ==
                Shape{b, 2, 1, n, n});
        const Var f32 = weights(narrow[c], cast(q, DType::f32), cast(k, DType::f32));
        CHECK(difference(cast(f32, DType::f64), w) < 1e-5);
    }
}

TEST_CASE("no queries, no keys") {
    const Tensor table = sample(33, {5, d});
    for (const Position& scheme : std::vector<Position>{
             TransformerXl{.weight = sample(32, {6, d})},
             TransformerXl{.weight = sample(32, {6, d}), .clamp_length = 1, .causal = true},
             Lookup{.table = table}, Skew{.table = table}, Symmetric{.projected = table}, Rotary{},
             alibi(1)})
        CHECK(weights(scheme, queries(0), keys(0)).shape() == Shape{batch, heads, 0, 0});
}

TEST_CASE("errors of products, rotations and biases") {
    const Tensor q = queries(6), k = keys(6);
    CHECK_THROWS_AS(place(symmetric(encoding(5, 6), sample(3, {6, d})), q, k), ShapeError);
    CHECK_THROWS_AS(place(symmetric(encoding(9, 6), sample(3, {6, d}), -1), q, k), ShapeError);
    CHECK_THROWS_AS(place(Symmetric{}, q, k), ShapeError);
    CHECK_THROWS_AS(joined(Symmetric{.projected = sample(3, {heads + 1, 6, d})}, q, k), ShapeError);
    CHECK_THROWS_AS(place(Grid{sample(3, {2, d}), sample(3, {4, d})}, q, k), ShapeError);
    CHECK_THROWS_AS(grid_encoding(sample(3, {2, d}), sample(3, {4, d + 1})), ShapeError);
    CHECK_THROWS_AS(place(rotary(), q, keys(7)), ShapeError);
    CHECK_THROWS_AS(place(Rotary{.width = 3}, q, k), ShapeError);
    CHECK_THROWS_AS(place(Rotary{.width = 6}, q, k), ShapeError);
    CHECK_THROWS_AS(place(Rotary{.base = -1}, q, k), ValueError);
    CHECK_THROWS_AS(rotate_pairs(q, Tensor::arange(5), PairLayout::halves), ShapeError);
    CHECK_THROWS_AS(rotate_pairs(sample(1, {3, 5}), Tensor::arange(3), PairLayout::halves),
                    ShapeError);
    CHECK_THROWS_AS(alibi_slopes(0), ValueError);
    CHECK_THROWS_AS(place(alibi(heads + 1), q, k), ShapeError);
    const std::string said = message_of<ShapeError>([&] { place(alibi(8), q, k); });
    for (const char* part : {"[alibi]", "slopes (8)", "(2,3,6,4)", "heads"})
        CHECK_MESSAGE(said.find(part) != std::string::npos, said);
}
