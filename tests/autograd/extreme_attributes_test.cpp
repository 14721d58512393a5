// Sizes, places and numbers at the ends of what 64 bits hold: a result or a clear error, on tensors and on a tape alike.
#include <doctest/doctest.h>

#include <cmath>
#include <cstdint>

#include "autograd/functions.h"
#include "autograd/tape.h"
#include "engine/error.h"
#include "engine/random.h"
#include "tests/support/bits.h"
#include "tests/support/message.h"

using namespace mercer;

namespace {

constexpr int64_t most = INT64_MAX, least = INT64_MIN, huge = int64_t{1} << 62;
using Sizes = std::vector<int64_t>;

Tensor doubles(std::vector<double> values) { return Tensor::from(values); }

// f for a tensor and for a watched one.
template <class E, class F>
void refused(F f, const Tensor& x) {
    CHECK_THROWS_AS(f(x), E);
    Tape tape;
    const Var watched = tape.watch(x);
    CHECK_THROWS_AS(f(watched), E);
}

template <class F>
Tensor gradient(F f, const Tensor& x) {
    Tape tape;
    const Var v = tape.watch(x);
    return tape.gradient(sum(f(v)), {v})[0];
}

}  // namespace

TEST_CASE("unslice: every element has a place of its own") {
    const Tensor x = randn(Key{1, 1}, {2, 3});
    struct Case {
        Shape shape;
        int64_t begin, step;
    };
    for (const Case& c : {Case{{6, 3}, 99, 1},
                          {{6, 3}, 5, 1},
                          {{6, 3}, 6, 1},
                          {{6, 3}, -1, 1},
                          {{6, 3}, 0, 0},
                          {{6, 3}, 0, 10},
                          {{6, 3}, 0, -1},
                          {{6, 3}, 0, huge},
                          {{6, 3}, 1, least},
                          {{6, 3}, 1, most},
                          {{6, 4}, 0, 1},
                          {{6}, 0, 1},
                          {{1, 3}, 0, 1},
                          {{6, 3}, most, 2},
                          {{6, 3, 1}, 0, 1}})
        refused<ShapeError>([&](const auto& v) { return unslice(v, c.shape, 0, c.begin, c.step); },
                            x);
    const Tensor y = unslice(x, {6, 3}, 0, 5, -5);
    CHECK(difference(slice(y, 0, 5, least, -5), x) == "");
    CHECK(sum(abs(y)).item<float>() == doctest::Approx(sum(abs(x)).item<float>()));
    // A single element's step says nothing; none have no place.
    const auto one = [](const auto& v) { return unslice(v, {4, 3}, 0, 3, most); };
    CHECK(difference(gradient(one, randn(Key{1, 2}, {1, 3})), Tensor::ones({1, 3})) == "");
    CHECK(sum(unslice(Tensor::zeros({0, 3}), {4, 3}, 0, 9, 0)).item<float>() == 0);
    CHECK_THROWS_AS(unslice(Tensor::zeros({0, 3}), {-4, 3}, 0, 0, 1), ShapeError);
}

TEST_CASE("slice: steps beyond the axis") {
    const Tensor x = doubles({1, 2, 3, 4});
    for (int64_t step : {most, huge, int64_t{4}}) {
        CHECK(difference(slice(x, 0, 0, 3, step), doubles({1})) == "");
        CHECK(difference(slice(x, 0, 3, least, -step), doubles({4})) == "");
    }
    CHECK(difference(slice(x, 0, 3, least, least), doubles({4})) == "");
    CHECK(difference(slice(x, 0, 3, 0, -2), doubles({4, 2})) == "");
    CHECK(slice(x, 0, 2, 2, most).count() == 0);
    CHECK(slice(x, 0, 3, 1, 2).count() == 0);
    CHECK(slice(x, 0, 1, 3, least).count() == 0);
    CHECK(difference(gradient([](const Var& v) { return slice(v, 0, 1, 4, most); }, x),
                     doubles({0, 1, 0, 0})) == "");
}

TEST_CASE("sizes that overflow, or are negative, are refused") {
    const Tensor x = randn(Key{1, 3}, {3, 4}), none = Tensor::zeros({0});
    for (PadMode mode : {PadMode::constant, PadMode::edge, PadMode::reflect, PadMode::circular})
        refused<ShapeError>(
            [&](const auto& v) {
                return pad(v, Sizes{most, 0}, Sizes{most, 0}, mode);
            },
            x);
    for (const Shape& shape :
         {Shape{4, huge + 3}, {huge + 3, 4}, {-3, -4}, {-1, -4}, {-12}, {huge, huge, -1}})
        refused<ShapeError>([&](const auto& v) { return reshape(v, shape); }, x);
    for (const Shape& shape :
         {Shape{int64_t{1} << 32, int64_t{1} << 32}, {huge, huge}, {-5, 0}, {least, 0}}) {
        refused<ShapeError>([&](const auto& v) { return reshape(v, shape); }, none);
        refused<ShapeError>([&](const auto& v) { return broadcast_to(v, shape); },
                            Tensor::zeros({1}));
    }
    refused<ShapeError>([&](const auto& v) { return broadcast_to(v, {-3, 0}); }, none);
    CHECK_THROWS_AS(Tensor::wrap(nullptr, {huge, huge}, DType::f32, {}), ShapeError);
    const Tensor four = doubles({0, 1, 2, 3});
    for (const Sizes& sizes :
         {Sizes{most, most, 6}, {huge, huge, huge, huge, 4}, {2, 1}, {2, 3}, {4, 1}})
        refused<ShapeError>([&](const auto& v) { return split(v, sizes, 0); }, four);
    refused<ValueError>([&](const auto& v) { return split(v, Sizes{5, -1}, 0); }, four);
    CHECK(split(four, Sizes{4, 0}, 0)[1].count() == 0);
}

TEST_CASE("what would overflow or never end elsewhere") {
    refused<ValueError>(
        [](const auto& v) {
            return tile(v, Sizes{1, int64_t{1} << 61});
        },
        Tensor::zeros({0, 4}));
    refused<ValueError>([](const auto& v) { return repeat(v, most, 1); }, Tensor::zeros({0, 4}));
    CHECK_THROWS_AS(Tensor::zeros({int64_t{1} << 40, int64_t{1} << 40, 0}), ShapeError);
    CHECK_THROWS_AS(Tensor::zeros({0, int64_t{1} << 40, int64_t{1} << 40}), ShapeError);
    CHECK_THROWS_AS(permutation(Key{1, 1}, -3), ShapeError);
    CHECK_THROWS_AS(permutation(Key{1, 1}, int64_t{1} << 50), MemoryError);
    CHECK(permutation(Key{1, 1}, 0).count() == 0);
    // One number for all elements along the axis: gather could not take it back.
    refused<ShapeError>(
        [](const auto& v) { return scatter_add(v, Tensor::zeros({1}, DType::i64), 0, 2); },
        Tensor::ones({4}));
    refused<Error>(
        [](const auto& v) {
            return conv_transpose2d(v, std::decay_t<decltype(v)>(Tensor::zeros({0, 1, 1, 1})), {},
                                    {1}, {}, {1}, most - 1);
        },
        Tensor::zeros({1, 0, 2, 2}));
    CHECK(embedding(Tensor::ones({3, 2}), Tensor::zeros({2}, DType::i64), most).count() == 4);
}

TEST_CASE("diagonals far outside are all or nothing") {
    const Tensor x = Tensor::ones({2, 3});
    for (int64_t d : {most, most - 1, huge, int64_t{3}}) {
        CHECK(sum(tril(x, d)).item<float>() == 6);
        CHECK(sum(triu(x, d)).item<float>() == 0);
        CHECK(sum(tril(x, -d)).item<float>() == 0);
        CHECK(sum(triu(x, -d)).item<float>() == 6);
    }
    CHECK(sum(tril(x, least)).item<float>() == 0);
    CHECK(sum(triu(x, least)).item<float>() == 6);
    CHECK(var(doubles({1, 3}), {0}, least).item<double>() == doctest::Approx(2 / 0x1p63));
}

TEST_CASE("einsum of axes of size 0") {
    const auto shape_of = [](std::string_view equation, std::vector<Tensor> operands) {
        return einsum(equation, operands).shape();
    };
    const Tensor none = Tensor::zeros({0}), one = Tensor::ones({});
    CHECK(shape_of("a,->a", {none, one}) == Shape{0});
    CHECK(shape_of("ab,c->abc", {Tensor::zeros({2, 0}), Tensor::ones({3})}) == Shape{2, 0, 3});
    CHECK(shape_of("dcb,c", {Tensor::zeros({0, 1, 3}), Tensor::ones({1})}) == Shape{3, 0});
    CHECK(shape_of("ab,b->a", {Tensor::zeros({2, 0}), none}) == Shape{2});
}

TEST_CASE("gradients of norms too faint for their reciprocal") {
    const auto close = [](const Tensor& a, std::vector<double> b, double eps) {
        for (size_t i = 0; i < b.size(); ++i)
            CHECK(cast(a, DType::f64).data<double>()[i] == doctest::Approx(b[i]).epsilon(eps));
    };
    const auto norm = [](double p) { return [p](const Var& x) { return norm_p(x, {-1}, p); }; };
    close(gradient(norm(2), doubles({1e-320, 1e-310, 0})), {1e-10, 1, 0}, 1e-3);
    close(gradient(norm(2), doubles({5e-309})), {1}, 1e-14);
    close(gradient(norm(3), doubles({1e-310, -1e-310})),
          {std::pow(2, -2.0 / 3), -std::pow(2, -2.0 / 3)}, 1e-10);
    close(gradient(norm(0.5), doubles({1e-310, 1e-310})), {2, 2}, 1e-10);
    close(gradient(norm(2), Tensor::from({1e-42f, 1e-40f, 0})), {0.01, 1, 0}, 1e-2);
    // A faint row beside others.
    const Tensor rows =
        Tensor::from(std::vector<double>{3e-310, 4e-310, 3e300, 4e300, 0, 0}, {3, 2});
    close(gradient(norm(2), rows), {0.6, 0.8, 0.6, 0.8, 0, 0}, 1e-10);
}

TEST_CASE("numbers that an integer dtype cannot hold") {
    const Tensor i32 = Tensor::full({2}, 7, DType::i32), i64 = Tensor::full({2}, 7, DType::i64);
    const Tensor mask = Tensor::full({2}, 1, DType::boolean);
    for (double value : {1e30, -1e30, 1.5, HUGE_VAL, std::nan("")}) {
        CHECK_THROWS_AS(masked_fill(i32, mask, value), ValueError);
        CHECK_THROWS_AS(pad(i64, Sizes{1}, Sizes{0}, PadMode::constant, value), ValueError);
    }
    CHECK_THROWS_AS(masked_fill(i32, mask, 0x1p31), ValueError);
    CHECK(masked_fill(i32, mask, -0x1p31).data<int32_t>()[1] == INT32_MIN);
    // Tensor::full is cast's way.
    CHECK(Tensor::scalar(1e30, DType::i32).item<int32_t>() == INT32_MAX);
    CHECK(Tensor::scalar(-HUGE_VAL, DType::i64).item<int64_t>() == least);
    CHECK(Tensor::scalar(std::nan(""), DType::i32).item<int32_t>() == 0);
    CHECK(Tensor::full({20000}, 0x1p40, DType::i64).data<int64_t>()[19999] == int64_t{1} << 40);
}

TEST_CASE(
    "reductions of one number repeated nearly 2^63 times are refused for the memory of their "
    "parts") {
    for (const Shape& shape : {Shape{most}, {most - 100}, {1, most, 1}, {most / 3, 3}, {huge}}) {
        const Tensor x = Tensor::full({}, 1).view(shape, Strides::filled(shape.rank(), 0), 0);
        const auto refused_for_memory = [&](auto reduction) {
            CHECK(message_of<MemoryError>([&] { reduction(x); }).find("impossible size") <
                  size_t{20});
        };
        refused_for_memory([](const Tensor& t) { return sum(t); });
        refused_for_memory([](const Tensor& t) { return mean(t); });
        refused_for_memory([](const Tensor& t) { return prod(t); });
        refused_for_memory([](const Tensor& t) { return max(t); });
        refused_for_memory([](const Tensor& t) { return argmin(t); });
        refused_for_memory([](const Tensor& t) { return any(t); });
        refused_for_memory([](const Tensor& t) { return count_nonzero(t); });
        refused_for_memory([](const Tensor& t) { return var(t); });
        refused_for_memory([](const Tensor& t) { return norm_p(t, 3); });
    }
    CHECK_THROWS_AS(softmax(Tensor::full({}, 1).view({most}, {0}, 0), 0), ShapeError);
}

TEST_CASE("epsilon and weights that norms and losses have no meaning for") {
    const Tensor x = randn(Key{1, 7}, {3, 4}), line = Tensor::ones({4}), y = Tensor::ones({3, 4});
    for (double epsilon : {-1e-5, double(INFINITY), double(NAN)}) {
        refused<ValueError>([&](const auto& v) { return layer_norm(v, {}, {}, epsilon); }, x);
        refused<ValueError>([&](const auto& v) { return rms_norm(v, {}, epsilon); }, x);
        refused<ValueError>([&](const auto& v) { return group_norm(v, 2, {}, {}, epsilon); }, x);
        refused<ValueError>([&](const auto& v) { return batch_norm(v, {}, {}, epsilon); }, x);
        refused<ValueError>(
            [&](const auto& v) { return batch_norm_inference(v, line, line, {}, {}, epsilon); }, x);
    }
    for (double weight : {0.0, -1.0, double(INFINITY), double(NAN)})
        refused<ValueError>([&](const auto& v) { return bce_with_logits(v, y, weight); }, x);
    CHECK(all(isfinite(layer_norm(x, {}, {}, 0))).item<bool>());
}
