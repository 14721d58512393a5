// Attributes and scores at the far ends of their types.
#include <doctest/doctest.h>

#include <cmath>
#include <limits>

#include "attention/smoother/reference.h"
#include "autograd/functions.h"
#include "autograd/tape.h"
#include "engine/error.h"
#include "engine/memory.h"
#include "engine/random.h"
#include "tests/support/every_isa.h"

using namespace mercer;

namespace {

const Tensor q = randn(Key{3, 1}, {6, 4}, DType::f64), k = randn(Key{3, 2}, {6, 4}, DType::f64),
             v = randn(Key{3, 3}, {6, 3}, DType::f64);

Tensor filtered(const Filter& filter) {
    SmootherOptions options;
    options.filter = filter;
    return attend(Var(q), Var(k), Var(v), options).value();
}
double apart(const Tensor& a, const Tensor& b) {
    REQUIRE(a.shape() == b.shape());
    return max(abs(a - b)).item<double>();
}

}  // namespace

TEST_CASE("filters whose attributes are as large as may be") {
    constexpr int64_t most = std::numeric_limits<int64_t>::max();
    const Tensor all = filtered(full());
    for (const int64_t far : {int64_t{1} << 61, (int64_t{1} << 62) + 1, most}) {
        CAPTURE(far);
        CHECK(apart(filtered(causal(far)), all) == 0);
        CHECK(apart(filtered(strided(far)), filtered(causal(0))) < 1e-15);
        CHECK(max(abs(filtered(causal(-far)))).item<double>() == 0);
        CHECK_THROWS_AS(fixed_summary(2, far, 4), ValueError);
        CHECK(apart(filtered(earlier_blocks(2, far)), filtered(earlier_blocks(2, 6))) == 0);
    }
}

TEST_CASE("a band sees what its formula says, however wide and far") {
    constexpr int64_t most = std::numeric_limits<int64_t>::max(), least = -most - 1;
    constexpr int64_t half = int64_t{1} << 62;
    for (const int64_t w : {int64_t{1}, int64_t{3}, half / 2, half - 1, half, half + 3, most})
        for (const int64_t offset : {least, -half - 1, -half / 2, int64_t{-3}, int64_t{0},
                                     int64_t{2}, half / 2, half - 1, half, half + 1, most}) {
            CAPTURE(w);
            CAPTURE(offset);
            const Tensor seen = visible(window(w, offset), 4, 5);
            const Tensor out = filtered(window(w, offset)).contiguous();
            for (int64_t i = 0; i < 4; ++i) {
                bool any = false;
                for (int64_t j = 0; j < 5; ++j) {
                    const long double last = (long double)(i) + offset;  // exact, as all below 2⁶⁴
                    const bool sees = j <= last && j > last - w;
                    CHECK(seen.data<bool>()[i * 5 + j] == sees);
                    any |= sees || (j == 0 && 5 <= last && 5 > last - w);  // filtered() has 6 keys
                }
                CHECK((out.data<double>()[i * 3] != 0) == any);
            }
        }
    CHECK(apart(filtered(same_length(-3, most)), filtered(causal(-3))) == 0);
    CHECK(apart(filtered(strided_local(most)), filtered(causal(0))) == 0);
}

TEST_CASE("entmax's alpha is looked at, whichever way attention goes") {
    for (const double alpha : {0.5, 0.0, -1.0, 1e7, 1e300, double(INFINITY), double(NAN)}) {
        SmootherOptions options;
        options.normaliser = entmax_weights(Var(Tensor::full({}, alpha, DType::f64)));
        CAPTURE(alpha);
        CHECK_THROWS_AS(attend(Var(q), Var(k), Var(v), options), ValueError);
        CHECK_THROWS_AS(smoother_weights(Var(q), Var(k), options), ValueError);
    }
}

TEST_CASE("visible scores far below zero are not lost to hidden ones") {
    const Tensor one = Tensor::from(std::vector<double>{1, 0}, Shape{1, 2}),
                 keys = Tensor::from(std::vector<double>{-3e30, 0, -3e30, 1, 5, 5}, Shape{3, 2});
    SmootherOptions options;
    options.filter = padding(Tensor::from(std::vector<int64_t>{2}, Shape{1}));
    options.normaliser = sparsemax_weights();
    const auto w = smoother_weights(Var(unsqueeze(one, 0)), Var(unsqueeze(keys, 0)), options)
                       .value()
                       .to_vector<double>();
    CHECK((w[0] == 0.5 && w[1] == 0.5 && w[2] == 0));
}

TEST_CASE("scores may be as large as they fit their type") {
    // The nearer of two distinct scores takes all, ties share, before one tile of keys and after.
    on_every_isa([] {
        for (const DType dtype : {DType::f32, DType::f64})
            for (const double far : {3e8, 1e10, dtype == DType::f32 ? 1e37 : 1e300})
                for (const int64_t keys : {4, 700})
                    for (const bool flags : {false, true}) {
                        CAPTURE(far);
                        CAPTURE(keys);
                        CAPTURE(flags);
                        std::vector<double> at(size_t(keys), far), value(size_t(keys), 3);
                        at[0] = -2 * far, value[0] = 100;
                        at[size_t(keys) - 2] = at[size_t(keys) - 1] = 2 * far;
                        value[size_t(keys) - 2] = 5, value[size_t(keys) - 1] = 9;
                        const Tensor of_keys = cast(Tensor::from(at, {keys, 1}), dtype),
                                     values = cast(Tensor::from(value, Shape{keys, 1}), dtype);
                        SmootherOptions options;
                        if (flags)
                            options.filter = filter([](const Seat& s) { return s.key != 1; });
                        Tape tape;
                        const Var x = tape.watch(Tensor::full({1, 1}, 0.5, dtype)),
                                  y = tape.watch(of_keys), z = tape.watch(values);
                        const Var out = attend(x, y, z, options);
                        CHECK(std::abs(cast(out.value(), DType::f64).item<double>() - 7) < 1e-5);
                        const auto d = tape.gradient(sum(out), {y, z});
                        const auto dy = cast(d[0], DType::f64).to_vector<double>(),
                                   dz = cast(d[1], DType::f64).to_vector<double>();
                        CHECK((dy[0] == 0 && dz[0] == 0));
                        CHECK(std::abs(dy[size_t(keys) - 2] + 0.5) < 1e-5);  // ½·½·(5 − 7)
                        CHECK(std::abs(dy[size_t(keys) - 1] - 0.5) < 1e-5);
                        CHECK(std::abs(dz[size_t(keys) - 1] - 0.5) < 1e-5);
                    }
    });
}

TEST_CASE(
    "large scores weigh the same in tiles with flags and without, measured or not, and on the way "
    "back") {
    on_every_isa([] {
        std::vector<float> at(512, -1e7f), value(512, 7);
        at[0] = at[256] = 1e7f, value[0] = 2, value[256] = 4;
        const std::pair<int64_t, int64_t> first[] = {{0, 0}};
        SmootherOptions options;
        options.kernel = dot_product(1);
        for (const bool measured : {false, true})
            for (const Filter& filter :
                 {full(), blocks(1, 256, first) |
                              mercer::filter([](const Seat& s) { return s.key % 5 != 3; })}) {
                CAPTURE(measured);
                options.filter = filter;
                Tape tape;
                const Var x = tape.watch(Tensor::ones({1, 1})),
                          y = tape.watch(Tensor::from(at, Shape{512, 1})),
                          z = tape.watch(Tensor::from(value, Shape{512, 1})),
                          out = measured ? attend_measured(x, y, z, options).out
                                         : attend(x, y, z, options);
                CHECK(out.item<float>() == doctest::Approx(3));
                const auto d = tape.gradient(sum(out), {y, z});
                const auto dy = d[0].to_vector<float>(), dz = d[1].to_vector<float>();
                CHECK((dy[0] == doctest::Approx(-0.5) && dy[256] == doctest::Approx(0.5)));
                CHECK((dz[0] == doctest::Approx(0.5) && dz[256] == doctest::Approx(0.5)));
            }
        Tape tape;
        const Var one(Tensor::ones({1, 1})), z = tape.watch(Tensor::ones({1, 1}));
        const Var out = attend_measured(one, Var(Tensor::full({1, 1}, 1e7)), z, options).out;
        CHECK(tape.gradient(sum(out), {z})[0].item<float>() == doctest::Approx(1));
    });
}

TEST_CASE("gradients of entmax beyond alpha 2 are those of its weights") {
    for (const double alpha : {2.5, 10.0}) {
        Tape tape;
        SmootherOptions options;
        options.kernel = dot_product(1);
        const Var a = tape.watch(Tensor::full({}, alpha, DType::f32));
        options.normaliser = entmax_weights(a);
        const Var x = tape.watch(Tensor::ones({1, 1}, DType::f32)),
                  y = tape.watch(Tensor::from(std::vector<float>{1, 0.9f, 0}, Shape{3, 1})),
                  z = tape.watch(Tensor::from(std::vector<float>{2, 5, 7}, Shape{3, 1}));
        const auto d = tape.gradient(sum(attend(x, y, z, options)), {x, y, z, a}),
                   e = tape.gradient(sum(matmul(smoother_weights(x, y, options), z)), {x, y, z, a});
        for (size_t i = 0; i < d.size(); ++i) CHECK(apart(d[i], e[i]) < 1e-5);
        if (alpha == 10) CHECK(std::abs(d[1].to_vector<float>()[1] - 3.2945) < 1e-3);
    }
}

TEST_CASE(
    "and where α differs from row to row, keys are shared by heads, and rows come in blocks") {
    const auto check = [](int64_t heads, int64_t queries, int64_t keys) {
        const auto normal = [](uint64_t stream, const Shape& shape) {
            return randn(Key{5, stream}, shape, DType::f64);
        };
        Tape tape;
        SmootherOptions options;
        options.filter = causal(keys - queries);
        const Var x = tape.watch(normal(1, {heads, queries, 3})),
                  y = tape.watch(normal(2, {1, keys, 3})), z = tape.watch(normal(3, {1, keys, 2})),
                  a = tape.watch(uniform(Key{5, 4}, {heads, queries, 1}, DType::f64, 1.2, 4));
        options.normaliser = entmax_weights(a);
        const Var loss(normal(6, {heads, queries, 2}));
        const auto d = tape.gradient(sum(attend(x, y, z, options) * loss), {x, y, z, a}),
                   e = tape.gradient(sum(matmul(smoother_weights(x, y, options), z) * loss),
                                     {x, y, z, a});
        for (size_t i = 0; i < d.size(); ++i) {
            CAPTURE(i);
            CHECK(apart(d[i], e[i]) < 1e-9 * (1 + max(abs(e[i])).item<double>()));
        }
    };
    check(2, 5, 7);
    check(2, 1100, 1100);  // two blocks
}

TEST_CASE("beyond alpha 2 a gradient takes blocks of what scores are made of, not all of it") {
    // Terms of all scores take 64 MiB, those of a block 16, of which a step keeps a few.
    const auto normal = [](uint64_t stream, const Shape& shape) {
        return randn(Key{6, stream}, shape);
    };
    Tape tape;
    const Var x = tape.watch(normal(1, {1024, 64})), y = tape.watch(normal(2, {256, 64})),
              z = tape.watch(normal(3, {256, 8})), w = tape.watch(normal(4, {64}));
    SmootherOptions options;
    options.kernel = additive(w);
    options.normaliser = entmax_weights(Var(Tensor::full({}, 2.5)));
    const Var loss = sum(attend(x, y, z, options));
    const size_t before = memory_stats().live;
    reset_peak_memory();
    tape.gradient(loss, {x, y, z, w});
    const double most = double(memory_stats().peak - before) / (1 << 20);
    MESSAGE(most << " MiB");
    CHECK(most < 128);
}

TEST_CASE("what is not a number stays so, whatever divides the weights") {
    const Tensor nans = where(equal(reshape(Tensor::arange(6, DType::f64), {6, 1}), 2),
                              Tensor::full({}, NAN, DType::f64), q);
    const Var alpha(Tensor::full({}, 1.7, DType::f64));
    for (const Normaliser& by :
         {Normaliser{}, sparsemax_weights(), entmax15_weights(), entmax_weights(alpha)}) {
        SmootherOptions options;
        options.normaliser = by;
        const Tensor y = attend(Var(nans), Var(k), Var(v), options).value();
        CHECK(all(equal(cast(isnan(y), DType::f64), cast(isnan(sum(nans, {1}, true)), DType::f64)))
                  .item<bool>());
    }
}

TEST_CASE("a scale that is none in the scores' type weighs all alike") {
    const auto single = [](const Tensor& x) { return Var(cast(x, DType::f32)); };
    SmootherOptions options;
    for (const Filter& filter : {full(), mercer::filter([](const Seat&) { return true; })}) {
        options.filter = filter, options.kernel = dot_product(1e-50);
        CHECK(apart(cast(attend(single(q), single(k), single(v), options).value(), DType::f64),
                    broadcast_to(mean(v, {0}, true), {6, 3})) < 1e-6);
    }
}

TEST_CASE("positions without heads add no axis") {
    SmootherOptions options;
    options.position = alibi(1);
    CHECK(attend(Var(q), Var(k), Var(v), options).shape() == Shape{6, 3});
    options.position =
        Grid{Var(randn(Key{3, 4}, {2, 4}, DType::f64)), Var(randn(Key{3, 5}, {3, 4}, DType::f64))};
    CHECK(attend(Var(q), Var(k), Var(v), options).shape() == Shape{6, 3});
    CHECK(smoother_weights(Var(q), Var(k), options).shape() == Shape{6, 6});
}
