// Convolution, pooling and recurrent layers: what the list of cases does not say.
#include <doctest/doctest.h>

#include <cmath>
#include <limits>

#include "autograd/functions.h"
#include "autograd/tape.h"
#include "engine/error.h"
#include "engine/functions.h"
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
        CHECK_MESSAGE(std::string(e.what()).find(text) != std::string::npos, e.what());
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
    says<ValueError>("must not be negative", [] { conv1d(x3, w3, {}, 1, {}, 1, 1, {-1}); });
    says<ShapeError>("pads (1,1,1) must be", [] { conv1d(x3, w3, {}, 1, {}, 1, 1, {1, 1, 1}); });
    says<DTypeError>("f32 and f64", [] { conv1d(x3, cast(w3, DType::f64)); });
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
    const auto [dx] = tape.gradient(y, {v}, {.retain = true, .cotangent = g});
    CHECK(difference(dx, expected) == "");
    const auto [text] = tape.gradient(y, {v}, CreateGraph{g});
    CHECK(difference(text.value(), expected) == "");

    // −∞ only, under a window that begins in the padding.
    const Var low = tape.watch(Tensor::full({1, 1, 3, 3}, -inf));
    const auto [corner] = tape.gradient(max_pool2d(low, {3}, {2}, {1}), {low},
                                        {.retain = false, .cotangent = Tensor::ones({1, 1, 2, 2})});
    CHECK(difference(corner, Tensor::from({1, 1, 0, 1, 1, 0, 0, 0, 0}, {1, 1, 3, 3})) == "");
}

TEST_CASE("the one-pass backward of max_pool is its text, bit for bit") {
    const Tensor x = randn(Key{1, 3}, {3, 5, 17, 22});
    Tape tape;
    const Var v = tape.watch(x), y = max_pool2d(v, {3, 2}, {2, 1}, {1});
    const Tensor g = randn(Key{1, 4}, y.shape());
    const auto [text] = tape.gradient(y, {v}, CreateGraph{g});
    const auto [fused] = tape.gradient(y, {v}, {.retain = false, .cotangent = g});
    CHECK(difference(fused, text.value()) == "");
}

TEST_CASE("pooling names what does not fit") {
    says<ValueError>("pads (2) must be less than the kernel (2)",
                     [] { max_pool1d(x3, 2, 0, {2}); });
    says<ShapeError>("x needs 4 axes, got (2,4,9)", [] { max_pool2d(x3, {2}); });
    says<ShapeError>("reaches over 10", [] { avg_pool1d(x3, 10); });
    says<ValueError>("kernel (0)", [] { avg_pool1d(x3, 0); });
    says<DTypeError>("f32 and f64", [] { max_pool1d(cast(x3, DType::i64), 2); });
}
