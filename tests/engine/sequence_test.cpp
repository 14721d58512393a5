// Convolution, pooling and recurrent layers: what the list of cases does not say.
#include <doctest/doctest.h>

#include <cmath>
#include <limits>

#include "autograd/functions.h"
#include "autograd/tape.h"
#include "engine/error.h"
#include "engine/functions.h"
#include "engine/isa.h"
#include "engine/parallel.h"
#include "engine/random.h"
#include "tests/support/bits.h"

using namespace mercer;

namespace {

template <class Error, class F>
void says(const std::string& text, F f) {
    try {
        f();
        FAIL_CHECK("nothing thrown; expected " << text);
    } catch (const Error& e) {
        CHECK_MESSAGE(std::string(e.what()).find(text) != std::string::npos, std::string(e.what()));
    }
}

const Tensor x3 = randn(Key{1, 1}, {2, 4, 9}), w3 = randn(Key{1, 2}, {6, 4, 3});

}  // namespace

TEST_CASE("convolutions name what does not fit") {
    says<ShapeError>("[conv1d] x and w need 3 axes: x (9), w (6,4,3)",
                     [] { conv1d(Tensor::ones({9}), w3); });
    says<ShapeError>("[conv1d] channels differ", [] { conv1d(x3, Tensor::ones({6, 3, 3})); });
    says<ShapeError>("2 groups", [] { conv1d(x3, Tensor::ones({5, 2, 3}), {}, 1, {}, 1, 2); });
    says<ShapeError>("0 groups", [] { conv1d(x3, w3, {}, 1, {}, 1, 0); });
    says<ShapeError>("reaches over 11 places where x with its padding has 9",
                     [] { conv1d(x3, w3, {}, 1, {}, 5); });
    says<ShapeError>("bias (4) must have shape (6)", [] { conv1d(x3, w3, Tensor::ones({4})); });
    says<ValueError>("stride (0) must be at least 1", [] { conv1d(x3, w3, {}, 0); });
    says<ValueError>("padding or pads, not both",
                     [] { conv1d(x3, w3, {}, 1, Padding::same, 1, 1, {1}); });
    says<ValueError>("pads (-1) must be at least 0", [] { conv1d(x3, w3, {}, 1, {}, 1, 1, {-1}); });
    for (int64_t huge : {int64_t{1} << 31, int64_t{1} << 62, INT64_MAX}) {
        says<ValueError>("must be at most 2147483647", [=] { conv1d(x3, w3, {}, huge); });
        says<ValueError>("must be at most 2147483647", [=] { conv1d(x3, w3, {}, 1, {}, huge); });
        says<ValueError>("must be at most 2147483647", [=] { max_pool1d(x3, huge); });
        says<ValueError>("must be at most 2147483647",
                         [=] { conv1d(x3, w3, {}, 1, {}, 1, 1, {huge}); });
    }
    says<ShapeError>("pads (1,1,1) must be", [] { conv1d(x3, w3, {}, 1, {}, 1, 1, {1, 1, 1}); });
    says<DTypeError>("[conv1d] dtypes differ: f32(", [] { conv1d(x3, cast(w3, DType::f64)); });
    says<DTypeError>("[avg_pool1d]", [] { avg_pool1d(cast(x3, DType::i64), 3); });
    says<DTypeError>("[max_pool1d]", [] { max_pool1d(cast(x3, DType::i64), 3); });
    says<ValueError>("output_padding (2) must be less than the stride (2)", [] {
        conv_transpose1d(x3, Tensor::ones({4, 2, 3}), {}, 2, {}, 1, 1, 2);
    });
    says<ShapeError>("nothing is left of axis 2", [] {
        conv_transpose1d(x3, Tensor::ones({4, 2, 1}), {}, 1, {5});
    });
}

TEST_CASE("max_pool sends a gradient to the first of equals or the first NaN, never into padding") {
    const float inf = std::numeric_limits<float>::infinity(), nan = std::nanf("");
    const Tensor x = Tensor::from({2, 2, 1, nan, 3, nan, -inf, -inf, -inf, -inf}, {1, 1, 10});
    Tape tape;
    const Var v = tape.watch(x), y = max_pool1d(v, 2, 2);
    CHECK(difference(y.value(), Tensor::from({2, nan, nan, -inf, -inf}, {1, 1, 5})) == "");
    const Tensor g = Tensor::from({1, 2, 3, 4, 5}, {1, 1, 5});
    const Tensor expected = Tensor::from({1, 0, 0, 2, 0, 3, 4, 0, 5, 0}, {1, 1, 10});
    const auto [dx] = tape.gradient(y, {v}, {.retain = true, .cotangents = {g}});
    CHECK(difference(dx, expected) == "");
    const auto [text] = tape.gradient(y, {v}, CreateGraph{{g}});
    CHECK(difference(text.value(), expected) == "");

    // −∞ only, under a window that begins in the padding.
    const Var low = tape.watch(Tensor::full({1, 1, 3, 3}, -inf));
    const auto [corner] = tape.gradient(max_pool2d(low, {3}, {2}, {1}), {low},
                                        {.cotangents = {Tensor::ones({1, 1, 2, 2})}});
    CHECK(difference(corner, Tensor::from({1, 1, 0, 1, 1, 0, 0, 0, 0}, {1, 1, 3, 3})) == "");
}

TEST_CASE("the one-pass backward of max_pool is its text, bit for bit") {
    const Tensor x = randn(Key{1, 3}, {3, 5, 17, 22});
    Tape tape;
    const Var v = tape.watch(x), y = max_pool2d(v, {3, 2}, {2, 1}, {1});
    const Tensor g = randn(Key{1, 4}, y.shape());
    const auto [text] = tape.gradient(y, {v}, CreateGraph{{g}});
    const auto [fused] = tape.gradient(y, {v}, {.cotangents = {g}});
    CHECK(difference(fused, text.value()) == "");
}

TEST_CASE("averages of no channels have a gradient of none") {
    Tape tape;
    const Var x = tape.watch(Tensor::ones({1, 0, 4}));
    const auto [dx] =
        tape.gradient(avg_pool1d(x, 2), {x}, {.cotangents = {Tensor::ones({1, 0, 2})}});
    CHECK(dx.shape() == x.shape());
}

TEST_CASE("pooling names what does not fit") {
    says<ValueError>("pads (2) must be less than the kernel (2)",
                     [] { max_pool1d(x3, 2, 0, {2}); });
    says<ShapeError>("x needs 4 axes, got (2,4,9)", [] { max_pool2d(x3, {2}); });
    says<ShapeError>("reaches over 10 places where x with its padding has 9",
                     [] { avg_pool1d(x3, 10); });
    says<ValueError>("kernel (0)", [] { avg_pool1d(x3, 0); });
    says<DTypeError>("f32 and f64", [] { max_pool1d(cast(x3, DType::i64), 2); });
}

namespace {

// sin(0.7 k + phase) in row-major order.
Tensor wave(const Shape& shape, double phase, DType dtype = DType::f64) {
    return cast(reshape(sin(Tensor::arange(count(shape), DType::f64, phase, 0.7)), shape), dtype);
}

// Operands of a layer in the order of its parameters, without the lengths.
std::vector<Tensor> operands(bool cells, int64_t steps, int64_t batch, int64_t inputs, int64_t n,
                             DType dtype) {
    const int64_t rows = (cells ? 4 : 3) * n;
    std::vector<Tensor> x{wave({steps, batch, inputs}, 5, dtype), wave({batch, n}, 6, dtype)};
    if (cells) x.push_back(wave({batch, n}, 7, dtype));
    for (const auto& [shape, phase] : {std::pair{Shape{rows, inputs}, 1.0},
                                       {Shape{rows, n}, 2.0},
                                       {Shape{rows}, 3.0},
                                       {Shape{rows}, 4.0}})
        x.push_back(wave(shape, phase, dtype));
    return x;
}

// y and the last states, side by side.
Var layer(const std::vector<Var>& v, const Tensor& lengths, bool reverse) {
    if (v.size() == 7) {
        const auto [y, h, c] = lstm(v[0], v[1], v[2], v[3], v[4], v[5], v[6], lengths, reverse);
        return concat({reshape(y, {-1}), reshape(h, {-1}), reshape(c, {-1})}, 0);
    }
    const auto [y, h] = gru(v[0], v[1], v[2], v[3], v[4], v[5], lengths, reverse);
    return concat({reshape(y, {-1}), reshape(h, {-1})}, 0);
}

double largest_difference(const Tensor& a, const Tensor& b) {
    return max(abs(a - b)).item<double>();
}

}  // namespace

TEST_CASE("lstm and gru agree with PyTorch 2.15, gate order, biases and gradients included") {
    struct Golden {
        bool cells;
        std::vector<double> y, dx, dw;  // of the last step; of the first; of w_hh's last row
    };
    for (const Golden& golden :
         {Golden{true,
                 {0.148096244622794, 0.120684375680217, 0.0713767892762274, 0.116671696425419},
                 {-0.217921340613295, -0.180466342074244, 0.0250474144442776, 0.0261172560276097},
                 {-0.0315931484251079, -0.0460250652116632}},
          Golden{false,
                 {-0.584719487922564, 0.230332929387889, 0.0608915785607554, 0.0703086427637992},
                 {-0.0180135940004233, 0.0330580128031587, -0.12065092769717, -0.0755298532438779},
                 {0.0278297144821764, 0.0239158443298191}}}) {
        Tape tape;
        std::vector<Var> v;
        for (const Tensor& t : operands(golden.cells, 3, 2, 2, 2, DType::f64))
            v.push_back(tape.watch(t));
        const Var out = layer(v, {}, false), y = slice(out, 0, 0, 12);
        const size_t w_hh = golden.cells ? 4 : 3;
        const auto [dx, dw] =
            tape.gradient(y, {v[0], v[w_hh]}, {.cotangents = {reshape(wave({3, 2, 2}, 8), {12})}});
        const auto near = [](const Tensor& got, const std::vector<double>& expected) {
            CHECK(largest_difference(got, Tensor::from(expected, got.shape())) < 1e-14);
        };
        near(slice(y.value(), 0, 8, 12), golden.y);
        near(slice(dx, 0, 0, 1), std::vector<double>(golden.dx));
        near(slice(dw, 0, -1, 1000), golden.dw);
    }
}

TEST_CASE("what lies beyond a sequence's end does not matter, in any gradient") {
    const Tensor lengths = cast(Tensor::from({2, 1}), DType::i64);
    for (const bool cells : {true, false})
        for (const bool reverse : {true, false}) {
            std::vector<Tensor> x = operands(cells, 3, 2, 2, 2, DType::f64);
            const auto gradients = [&] {
                Tape tape;
                std::vector<Var> v;
                for (const Tensor& t : x) v.push_back(tape.watch(t));
                const Var out = layer(v, lengths, reverse);
                std::vector<Tensor> all = tape.gradient(sum(out), v, retain);
                for (const Var& g : tape.gradient(sum(out), v, create_graph))
                    all.push_back(g.value());
                return all;
            };
            const std::vector<Tensor> expected = gradients();
            double* const at = x[0].mutable_data<double>();  // (3, 2, 2)
            for (int i : {6, 7, 8, 9, 10, 11}) at[i] = i % 2 ? std::nan("") : HUGE_VAL;
            const std::vector<Tensor> got = gradients();
            for (size_t i = 0; i < got.size(); ++i) CHECK(difference(got[i], expected[i]) == "");
        }
}

TEST_CASE("the fused backward of lstm and gru is their text, on every instruction set the same") {
    const Isa isa = mercer::isa();
    const int threads = thread_count();
    for (const bool cells : {true, false})
        for (const bool reverse : {false, true})
            for (const bool ended : {false, true})
                for (const DType dtype : {DType::f32, DType::f64}) {
                    const int64_t steps = 5, batch = 11, n = 35;
                    Tensor lengths;
                    if (ended)
                        lengths =
                            Tensor::from(std::vector<int64_t>{5, 0, 1, 4, 2, 5, 3, 3, 1, 5, 2});
                    std::vector<Tensor> first;
                    for (const Isa which : available_isas())
                        for (const int count : {1, 2}) {
                            set_isa(which);
                            set_thread_count(count);
                            Tape tape;
                            std::vector<Var> v;
                            for (const Tensor& t : operands(cells, steps, batch, 7, n, dtype))
                                v.push_back(tape.watch(t * 0.3));
                            const Var y = layer(v, lengths, reverse);
                            const Tensor g = wave(y.shape(), 9, dtype);
                            const std::span<const Var> wrt(v);
                            const auto text = tape.gradient(y, wrt, CreateGraph{{g}});
                            const auto fused =
                                tape.gradient(y, wrt, {.retain = true, .cotangents = {g}});
                            for (size_t k = 0; k < v.size(); ++k) {
                                const double scale = max(abs(fused[k])).item<double>();
                                CHECK(largest_difference(fused[k], text[k].value()) <=
                                      scale * (dtype == DType::f64 ? 1e-14 : 5e-6));
                                if (first.size() > k) CHECK(difference(first[k], fused[k]) == "");
                            }
                            if (first.empty()) first = fused;
                        }
                }
    set_isa(isa);
    set_thread_count(threads);
}

TEST_CASE("a padded sequence has the states of the sequence alone") {
    for (const bool reverse : {false, true}) {
        const std::vector<Tensor> x = operands(true, 6, 2, 3, 4, DType::f64);
        const auto run = [&](const Tensor& in, const Tensor& lengths) {
            return lstm(in, x[1], x[2], x[3], x[4], x[5], x[6], lengths, reverse);
        };
        const auto padded = run(x[0], Tensor::from(std::vector<int64_t>{4, 4}));
        const auto alone = run(slice(x[0], 0, 0, 4), {});
        for (int k : {1, 2}) CHECK(difference(padded[size_t(k)], alone[size_t(k)]) == "");
        CHECK(difference(slice(padded[0], 0, 0, 4), alone[0]) == "");
    }
}

TEST_CASE("recurrent layers name what does not fit") {
    const std::vector<Tensor> x = operands(true, 3, 2, 5, 4, DType::f32);
    const auto run = [&](const Tensor& in, const Tensor& h, const Tensor& w,
                         const Tensor& lengths) {
        lstm(in, h, x[2], x[3], w, x[5], x[6], lengths);
    };
    says<ShapeError>("[lstm] x must be (T, B, I)", [&] { run(x[1], x[1], x[4], {}); });
    says<ShapeError>("T at least 1", [&] { run(Tensor::ones({0, 2, 5}), x[1], x[4], {}); });
    says<ShapeError>("w_hh (3,4) must have shape (16,4)", [&] {
        run(x[0], x[1], Tensor::ones({3, 4}), {});
    });
    says<ShapeError>("an initial state (3,4) must have shape (2,4)", [&] {
        run(x[0], Tensor::ones({3, 4}), x[4], {});
    });
    says<DTypeError>("dtypes differ: x f32(", [&] { run(x[0], x[1], cast(x[4], DType::f64), {}); });
    says<ShapeError>("lengths must be i64 (2)", [&] { run(x[0], x[1], x[4], Tensor::ones({2})); });
    says<ValueError>("length 4 is outside [0, 3]", [&] {
        run(x[0], x[1], x[4], Tensor::from(std::vector<int64_t>{1, 4}));
    });
}

TEST_CASE("scans of rows that lie side by side have the bits of dense rows") {
    // More than one piece of steps, chunk of a sum, block of rows and matrix.
    const Tensor near_one = randn(Key{3, 1}, {2, 17000, 70}, DType::f64) * 0.01 + 1.0;
    for (const DType dtype : {DType::f32, DType::f64, DType::i64}) {
        const Tensor beside =
                         transpose(cast(dtype == DType::i64 ? near_one * 99.0 : near_one, dtype)),
                     dense = beside.contiguous();
        REQUIRE(!beside.is_contiguous());
        for (int flags = 0; flags < 4; ++flags) {
            const bool exclusive = flags & 1, reverse = flags & 2;
            CHECK(difference(cumsum(beside, 2, exclusive, reverse),
                             cumsum(dense, 2, exclusive, reverse)) == "");
            CHECK(difference(cumprod(beside, 2, exclusive, reverse),
                             cumprod(dense, 2, exclusive, reverse)) == "");
        }
        if (dtype == DType::i64) continue;
        const Tensor a = transpose(cast(near_one * 0.5, dtype)),
                     b = transpose(randn(Key{3, 2}, {2, 17000, 70}, dtype));
        for (const bool reverse : {false, true})
            CHECK(difference(linear_recurrence(a, b, 2, reverse),
                             linear_recurrence(a.contiguous(), b.contiguous(), 2, reverse)) == "");
    }
}
