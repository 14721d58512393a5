// Convolution, pooling and recurrent layers: what the list of cases does not say.
#include <doctest/doctest.h>

#include "engine/error.h"
#include "engine/functions.h"
#include "engine/random.h"

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
