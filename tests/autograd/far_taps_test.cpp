// Convolutions whose taps lie farther apart than x and its outputs reach: padding is all that such taps meet, however far.
#include <doctest/doctest.h>

#include <array>
#include <cmath>

#include "autograd/functions.h"
#include "autograd/tape.h"
#include "engine/memory.h"
#include "engine/random.h"
#include "tests/support/bits.h"
#include "tests/support/every_isa.h"

using namespace mercer;

namespace {

// y, dx and dw of a convolution, or of its adjoint, of one size.
std::array<Tensor, 3> results(bool adjoint, int64_t taps, int64_t groups, int axes,
                              int64_t dilation) {
    constexpr int64_t size = 8, channels = 20;
    const Shape x_shape = axes == 1 ? Shape{2, channels, size} : Shape{2, channels, size, size},
                w_shape = axes == 1 ? Shape{channels, channels / groups, taps}
                                    : Shape{channels, channels / groups, taps, 2};
    Tensor w = randn(Key{4, 1}, w_shape, DType::f64);
    w.mutable_data<double>()[0] = INFINITY;  // counts in padding too
    Tape tape;
    const Var x = tape.watch(randn(Key{4, 2}, x_shape, DType::f64)), v = tape.watch(w);
    // Of an odd number of taps the middle one meets x; of an even number none does.
    const int64_t down = (taps - 1) * dilation, across = dilation;
    const Shape pads =
        axes == 1 ? Shape{down / 2, down - down / 2} : Shape{down / 2, down - down / 2, 0, across};
    const Var y = axes == 1 ? adjoint ? conv_transpose1d(x, v, {}, 1, pads, dilation, groups)
                                      : conv1d(x, v, {}, 1, Padding::valid, dilation, groups, pads)
                  : adjoint ? conv_transpose2d(x, v, {}, {1}, pads, {dilation}, groups)
                            : conv2d(x, v, {}, {1}, Padding::valid, {dilation}, groups, pads);
    const auto [dx, dw] =
        tape.gradient(y, {x, v}, {.cotangents = {randn(Key{4, 3}, y.shape(), DType::f64)}});
    return {y.value(), dx, dw};
}

}  // namespace

TEST_CASE("taps that meet padding alone cost no more and change no bit, however far they are") {
    on_every_isa([] {
        for (const bool adjoint : {false, true})
            for (const int64_t taps : {1, 2, 3, 4, 5})
                for (const int64_t groups : {1, 20})
                    for (const int axes : {1, 2}) {
                        CAPTURE(adjoint);
                        CAPTURE(taps);
                        CAPTURE(groups);
                        CAPTURE(axes);
                        const auto near = results(adjoint, taps, groups, axes, 16);
                        reset_peak_memory();
                        const size_t before = memory_stats().live;
                        const auto far = results(adjoint, taps, groups, axes, 100'000'000);
                        CHECK(double(memory_stats().peak - before) / (1 << 20) < 2);
                        for (size_t k = 0; k < 3; ++k) CHECK(difference(far[k], near[k]) == "");
                    }
    });
}

TEST_CASE("one tap may reach x from the side, and of the last output alone") {
    // Outputs i·stride − before: the last tap alone meets x, and that in the last output.
    for (const int64_t far : {int64_t{40}, int64_t{1} << 29}) {
        const Tensor x = Tensor::arange(4, DType::f64, 1).view({1, 1, 4}, {4, 4, 1}, 0),
                     w = Tensor::from(std::vector<double>{2, 3, 5}, {1, 1, 3});
        const Var y = conv1d(x, w, {}, 7, Padding::valid, far, 1, {2 * far + 11, 0});
        CHECK(y.value().to_vector<double>() == std::vector<double>{0, 0, 5 * 4});
    }
}

TEST_CASE("`same` padding of any dilation") {
    const Tensor x = randn(Key{4, 4}, {1, 3, 6, 6}), w = randn(Key{4, 5}, {2, 3, 3, 3});
    const Tensor middle = slice(slice(w, 2, 1, 2), 3, 1, 2);
    reset_peak_memory();
    const size_t before = memory_stats().live;
    const Var y = conv2d(x, w, {}, {1}, Padding::same, {100'000'000});
    CHECK(double(memory_stats().peak - before) / (1 << 20) < 2);
    CHECK(max(abs(y.value() - conv2d(x, middle))).item<float>() < 1e-5f);
}
