// Sinusoidal and absolute positions: A18, A19, A26 and Eq. 4.
#include "tests/attention/position_support.h"

using namespace mercer;
using namespace mercer::test;

namespace {

// sin and cos of pair p at position t, in long double.
long double angle(long double t, int64_t p, long double steps) {
    return t / std::pow(10000.0L, (long double)p / steps);
}

}  // namespace

TEST_CASE("sinusoidal encodings equal their formula, every layout, f64 and f32") {
    const int64_t width = 10, pairs = width / 2;
    const std::vector<double> positions{0, 1, 2, 7, 511, 4095, -3, 0.25, -1.75};
    const Tensor t = Tensor::from(positions);
    for (const EncodingLayout layout :
         {EncodingLayout::interleaved, EncodingLayout::halves, EncodingLayout::fairseq}) {
        const bool fairseq = layout == EncodingLayout::fairseq;
        const EncodingOptions options{.layout = layout, .padding_index = 4};
        const Tensor table = sinusoidal_encoding(t, width, DType::f64, options).value();
        REQUIRE(table.shape() == Shape{int64_t(positions.size()), width});
        const std::vector<double> got = table.to_vector<double>();
        double error = 0;
        for (size_t n = 0; n < positions.size(); ++n)
            for (int64_t p = 0; p < pairs; ++p) {
                const long double a =
                    angle(positions[n] + (fairseq ? 5 : 0), p, fairseq ? pairs - 1 : pairs);
                const bool in = layout == EncodingLayout::interleaved;
                const size_t row = n * size_t(width);
                error = std::max(error,
                                 std::abs(got[row + size_t(in ? 2 * p : p)] - double(std::sin(a))));
                error = std::max(error, std::abs(got[row + size_t(in ? 2 * p + 1 : p + pairs)] -
                                                 double(std::cos(a))));
            }
        CHECK(error < 1e-12);
        const Tensor rounded = sinusoidal_encoding(t, width, DType::f32, options).value();
        CHECK(largest(cast(rounded, DType::f64) - table) <= 0x1p-24);
    }
    // the same for integers of any dtype, of any shape
    const Tensor whole = Tensor::from(std::vector<int64_t>{0, 1, 2, 7}, {2, 2});
    const Tensor table = sinusoidal_encoding(whole, width, DType::f64).value();
    CHECK(table.shape() == Shape{2, 2, width});
    CHECK(largest(table -
                  sinusoidal_encoding(cast(whole, DType::f32), width, DType::f64).value()) == 0);
}

TEST_CASE("layouts are equal up to a permutation of columns") {
    const Tensor t = Tensor::arange(50);
    const Tensor a = sinusoidal_encoding(t, 8, DType::f64).value();
    const Tensor b =
        sinusoidal_encoding(t, 8, DType::f64, {.layout = EncodingLayout::halves}).value();
    const Tensor columns = Tensor::from(std::vector<int64_t>{0, 2, 4, 6, 1, 3, 5, 7});
    CHECK(largest(index_select(a, columns, 1) - b) == 0);
    CHECK(largest(a - b) > 0.1);
}

TEST_CASE("fairseq: positions begin after the padding's index, whose row is zero") {
    const Tensor seen = Tensor::from(std::vector<int64_t>{0, 0, 1, 1, 1, 1, 1, 0, 0, 0}, {2, 5});
    const Tensor t = token_positions(not_equal(seen, 0));
    CHECK(t.to_vector<int64_t>() == std::vector<int64_t>{-1, -1, 0, 1, 2, 0, 1, -1, -1, -1});
    const Tensor table =
        sinusoidal_encoding(t, 6, DType::f64, {.layout = EncodingLayout::fairseq}).value();
    const std::vector<double> x = table.to_vector<double>();
    for (int64_t n = 0; n < 10; ++n)
        for (int64_t i = 0; i < 3; ++i) {
            const int64_t place = t.to_vector<int64_t>()[size_t(n)];
            const double a = double(place + 2) * std::exp(-double(i) * std::log(10000.0) / 2);
            CHECK(x[size_t(n * 6 + i)] == doctest::Approx(place < 0 ? 0 : std::sin(a)));
            CHECK(x[size_t(n * 6 + 3 + i)] == doctest::Approx(place < 0 ? 0 : std::cos(a)));
        }
    const Var far = sinusoidal_encoding(  // the last index there is
        Tensor::zeros({1}, DType::f64), 4, DType::f64,
        {.layout = EncodingLayout::fairseq, .padding_index = INT64_MAX});
    CHECK(far.value().to_vector<double>()[0] == doctest::Approx(std::sin(0x1p63)));
}

TEST_CASE("PE(p + s) is a fixed rotation of PE(p)") {
    const int64_t width = 6, positions = 40;
    for (const double s : {1.0, 13.0, -2.5}) {
        // M with M·PE(p) = PE(p + s), from angle sums, for interleaved pairs
        std::vector<double> m(size_t(width * width), 0);
        for (int64_t p = 0; p < width / 2; ++p) {
            const double a = double(angle(s, p, double(width) / 2));
            double* at = &m[size_t(2 * p * width + 2 * p)];
            at[0] = at[width + 1] = std::cos(a);
            at[1] = std::sin(a);
            at[width] = -std::sin(a);
        }
        const Tensor turn = Tensor::from(m, {width, width});
        CHECK(largest(matmul(turn, transpose(turn)) - Tensor::eye(width, -1, DType::f64)) < 1e-15);
        const Tensor here = Tensor::arange(positions, DType::f64);
        const Tensor before = sinusoidal_encoding(here, width, DType::f64).value();
        const Tensor after = sinusoidal_encoding(here + s, width, DType::f64).value();
        CHECK(largest(matmul(before, transpose(turn)) - after) < 1e-12);
        for (const PairLayout layout : {PairLayout::interleaved, PairLayout::halves}) {
            const EncodingOptions options{.layout = layout == PairLayout::halves
                                                        ? EncodingLayout::halves
                                                        : EncodingLayout::interleaved};
            const Var x = sinusoidal_encoding(here, width, DType::f64, options);
            const Var turned = rotate_pairs(x, Tensor::full({positions}, -s, DType::f64), layout);
            CHECK(difference(turned, sinusoidal_encoding(here + s, width, DType::f64, options)) <
                  1e-12);
        }
    }
}

TEST_CASE("real positions are differentiable") {
    for (const EncodingLayout layout : {EncodingLayout::interleaved, EncodingLayout::fairseq})
        check_gradients("encoding",
                        [&](std::span<const Var> x) {
                            return sinusoidal_encoding(x[0], 4, DType::f64,
                                                       {.layout = layout, .base = 10});
                        },
                        {sample(1, {3})});
}

TEST_CASE("Eq 4: the direct sum has four terms") {
    const Tensor f = sample(2, {2, 5, 4}), w = sample(3, {4, 3}), u = sample(4, {4, 3});
    const Var t = sinusoidal_encoding(Tensor::arange(5), 4, DType::f64);
    const Var sum = add_positions(f, t);
    const auto product = [&](const Var& a, const Var& b) {
        return matmul(matmul(a, w), transpose(matmul(b, u)));
    };
    const Var content = Var(f);
    const Var four =
        product(content, content) + product(content, t) + product(t, content) + product(t, t);
    CHECK(difference(product(sum, sum), four) < 1e-12);
    // and added after the projection
    const Positioned p = place(Absolute{.queries = matmul(t, w), .keys = matmul(t, u)},
                               matmul(content, w), matmul(content, u));
    CHECK(difference(matmul(p.q, transpose(p.k)), four) < 1e-12);
    CHECK_FALSE(p.term().defined());
    // slots are not tokens: full attention is no longer equivariant
    const Tensor order = Tensor::from(std::vector<int64_t>{2, 0, 1, 4, 3});
    const auto attend = [&](const Tensor& x) {
        const Var s = add_positions(x, t);
        return matmul(weights(NoPosition{}, s, s), x).value();
    };
    CHECK(largest(attend(index_select(f, order, 1)) - index_select(attend(f), order, 1)) > 1e-3);
}

TEST_CASE("learned positions: the gradient adds up over the batch") {
    const Tensor f = sample(5, {3, 4, 2}), cotangent = sample(6, {3, 4, 2});
    Tape tape;
    const Var table = tape.watch(sample(7, {6, 2}));
    const Var out = add_positions(f, embedding(table, Tensor::arange(4, DType::i64)));
    const auto [g] = tape.gradient(sum(out * cotangent), {table});
    CHECK(largest(slice(g, 0, 0, 4) - sum(cotangent, {0})) < 1e-14);
    CHECK(largest(slice(g, 0, 4, 6)) == 0);
}

TEST_CASE("values with and without positions differ by t W_v") {
    const Tensor f = sample(8, {2, 5, 4}), w = sample(9, {4, 3});
    const Var t = sinusoidal_encoding(Tensor::arange(5), 4, DType::f64);
    const Var with = matmul(value_input(f, t, ValueInput::features_and_positions), w),
              without = matmul(value_input(f, t, ValueInput::features), w);
    CHECK(difference(with - without, broadcast_to(matmul(t, w), {2, 5, 3})) < 1e-12);
    CHECK(difference(without, matmul(f, w)) == 0);
}

TEST_CASE("errors of encodings and sums") {
    const Tensor t = Tensor::arange(3);
    CHECK_THROWS_AS(sinusoidal_encoding(t, 5), ShapeError);
    CHECK_THROWS_AS(sinusoidal_encoding(t, 0), ShapeError);
    CHECK_THROWS_AS(sinusoidal_encoding(t, 2, DType::f32, {.layout = EncodingLayout::fairseq}),
                    ShapeError);
    CHECK_THROWS_AS(sinusoidal_encoding(t, 4, DType::i64), DTypeError);
    CHECK_THROWS_AS(sinusoidal_encoding(t, 4, DType::f32, {.base = 0}), ValueError);
    CHECK_THROWS_AS(token_positions(t), DTypeError);
    const Tensor f = sample(2, {2, 3, 4, 6});
    CHECK_NOTHROW(add_positions(f, sample(3, {4, 6})));
    CHECK_NOTHROW(add_positions(f, sample(3, {1, 3, 4, 6})));
    CHECK_THROWS_AS(add_positions(f, sample(3, {3, 4, 6})), ShapeError);  // heads, or a batch of 3?
    CHECK_THROWS_AS(add_positions(f, sample(3, {1, 6})), ShapeError);
    CHECK_THROWS_AS(add_positions(f, Var()), ShapeError);
    CHECK(message_of<ShapeError>([&] {
              rotate_pairs(sample(4, {2, 1, 2}), sample(5, {3, 1}), PairLayout::interleaved);
          }).starts_with("[rotate_pairs] "));
    CHECK(message_of<ValueError>([] { alibi_slopes(0); }).starts_with("[alibi_slopes] "));
    for (const int64_t n : {int64_t{1} << 50, int64_t{1} << 62}) {
        CHECK(message_of([&] { alibi_slopes(n); }).starts_with("[alibi_slopes] "));
        for (const Tensor& at : {t, Tensor::arange(2000)})
            CHECK(message_of([&] {
                      sinusoidal_encoding(at, n);
                  }).starts_with("[sinusoidal_encoding] "));
    }
    const std::string said = message_of<ShapeError>([&] { add_positions(f, sample(3, {5, 6})); });
    CHECK(said.find("(5,6)") != std::string::npos);
    CHECK(said.find("(2,3,4,6)") != std::string::npos);
}
