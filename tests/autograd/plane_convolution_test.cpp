// Depthwise convolutions and pooling of more planes than caches hold, which are asked for while others are met: each
// channel as by itself, and sums over shifted planes.
#include <doctest/doctest.h>

#include <array>
#include <cmath>
#include <utility>
#include <vector>

#include "autograd/functions.h"
#include "autograd/tape.h"
#include "engine/memory.h"
#include "engine/random.h"
#include "tests/support/bits.h"
#include "tests/support/every_isa.h"

using namespace mercer;

namespace {

constexpr int64_t batch = 3, channels = 40, rows = 64, columns = 90;

struct Depthwise {
    int64_t down, across, stride;
    Tensor value{}, slope{};  // of the weights

    /// From the cotangent u.
    void run(const Tensor& x, const Tensor& w, const Tensor& u) {
        Tape tape;
        const Var weights = tape.watch(w), y = conv2d(Var(x), weights, Var(), {stride, stride},
                                                      Padding::same, {1}, x.size(1));
        value = y.value();
        slope = tape.gradient(y, {weights}, {.cotangents = {u}})[0];
    }
};

}  // namespace

TEST_CASE("channels of depthwise convolutions do not know of each other") {
    for (const DType dtype : {DType::f32, DType::f64}) {
        const Tensor x = randn(Key{8, 1}, {batch, channels, rows, columns}, dtype);
        for (Depthwise all :
             {Depthwise{3, 3, 1}, {3, 3, 2}, {5, 5, 1}, {4, 7, 1}, {1, 9, 2}, {15, 15, 2}}) {
            CAPTURE(all.down);
            CAPTURE(all.across);
            CAPTURE(all.stride);
            const Tensor w = randn(Key{8, 2}, {channels, 1, all.down, all.across}, dtype);
            const int64_t s = all.stride;
            const Tensor u = randn(
                Key{8, 3}, {batch, channels, (rows + s - 1) / s, (columns + s - 1) / s}, dtype);
            on_every_isa([&] {
                set_thread_count(1 + int(s));
                all.run(x, w, u);
                for (int64_t c = 0; c < channels; c += 13) {
                    Depthwise one = all;
                    one.run(slice(x, 1, c, c + 1).contiguous(), slice(w, 0, c, c + 1),
                            slice(u, 1, c, c + 1));
                    CHECK(difference(one.value, slice(all.value, 1, c, c + 1)) == "");
                    CHECK(difference(one.slope, slice(all.slope, 0, c, c + 1)) == "");
                }
            });
        }
    }
}

TEST_CASE("nor do channels of narrow planes, of which registers have many") {
    struct Narrow {
        int64_t rows, columns, down, across;
        Padding padding = Padding::same;
        int64_t dilation = 1, many = 21;  // no whole number of registers
    };
    for (const DType dtype : {DType::f32, DType::f64})
        for (const Narrow n : {Narrow{7, 7, 7, 7},
                               {14, 14, 5, 9},
                               {3, 5, 31, 31},
                               {30, 2, 4, 6},
                               {9, 17, 7, 11, Padding::valid},
                               {1, 6, 1, 40},
                               {1, 50, 1, 41, Padding::valid},
                               {7, 7, 3, 3, Padding::same, 1, 69},
                               {9, 7, 2, 9, Padding::same, 2},
                               {10, 1, 3, 9, Padding::same, 2},
                               {13, 9, 4, 5, Padding::same, 3},
                               {11, 13, 5, 6, Padding::valid, 2},
                               {11, 9, 3, 9, Padding::valid},  // no tap meets all columns of dx
                               {10, 9, 2, 8, Padding::valid},
                               {8, 9, 1, 9, Padding::valid}}) {
            CAPTURE(n.rows);
            CAPTURE(n.columns);
            CAPTURE(n.dilation);
            const int64_t many = n.many, down = (n.down - 1) * n.dilation,
                          across = (n.across - 1) * n.dilation;
            const Shape planes{1, many, n.rows, n.columns};
            const Tensor x = concat({randn(Key{8, 7}, planes, dtype), Tensor::zeros(planes, dtype)},
                                    0),
                         b = -Tensor::zeros({many}, dtype);
            // Outside of planes any weight counts: of zeros the sign, and that some are not finite.
            Tensor w = randn(Key{8, 9}, {many, 1, n.down, n.across}, dtype);
            w = concat({-abs(slice(w, 0, 0, 9)), slice(w, 0, 9, many - 1),
                        INFINITY * slice(w, 0, many - 1, many)},
                       0);
            const bool same = n.padding == Padding::same;
            const Shape outs{2, many, same ? n.rows : n.rows - down,
                             same ? n.columns : n.columns - across};
            // An infinite slope makes NaN of all taps that meet the padding.
            std::vector<double> slopes = randn(Key{8, 10}, outs, DType::f64).to_vector<double>();
            slopes[0] = slopes[slopes.size() - 1] = INFINITY;
            const Tensor u = cast(Tensor::from(slopes, outs), dtype);
            const auto run = [&](int64_t from, int64_t to) {
                Tape tape;
                const Var v = tape.watch(slice(x, 1, from, to).contiguous()),
                          k = tape.watch(slice(w, 0, from, to));
                const Var y = conv2d(v, k, Var(slice(b, 0, from, to)), {1, 1}, n.padding,
                                     {n.dilation}, to - from);
                auto slope =
                    tape.gradient(y, {v, k}, {.cotangents = {slice(u, 1, from, to).contiguous()}});
                return std::array{y.value(), slope[0], slope[1]};
            };
            on_every_isa([&] {
                set_thread_count(1);
                const auto alone = run(0, many);
                set_thread_count(2);  // as many as there are registers of channels
                const auto [y, slope, weights] = run(0, many);
                CHECK(difference(alone[0], y) == "");
                CHECK(difference(alone[1], slope) == "");
                for (int64_t c = 0; c < many; ++c) {
                    const auto [one, one_slope, one_weights] = run(c, c + 1);
                    CHECK(difference(one, slice(y, 1, c, c + 1)) == "");
                    CHECK(difference(one_slope, slice(slope, 1, c, c + 1)) == "");
                    CHECK(difference(one_weights, slice(weights, 0, c, c + 1)) == "");
                }
            });
        }
}

TEST_CASE("nor do those of pooling, nor rows of depthwise ones of a single axis") {
    for (const DType dtype : {DType::f32, DType::f64}) {
        const Tensor x = randn(Key{8, 1}, {batch, channels, rows, columns}, dtype),
                     line = reshape(x, {batch, channels, rows * columns}),
                     w = randn(Key{8, 2}, {channels, 1, 9}, dtype);
        // Each function's value and gradient, of channels [from, to).
        const auto pooled = [&](int64_t from, int64_t to) {
            Tape tape;
            const Var v = tape.watch(slice(x, 1, from, to).contiguous()),
                      y = max_pool2d(v, {3, 3}, {2, 2}, {1, 1});
            return std::pair(y.value(), tape.gradient(sum(y * y), {v})[0]);
        };
        const auto convolved = [&](int64_t from, int64_t to) {
            Tape tape;
            const Var v = tape.watch(slice(w, 0, from, to)),
                      y = conv1d(Var(slice(line, 1, from, to).contiguous()), v, Var(), 1,
                                 Padding::same, 1, to - from);
            return std::pair(y.value(), tape.gradient(sum(y * y), {v})[0]);
        };
        on_every_isa([&] {
            const auto [top, top_slope] = pooled(0, channels);
            const auto [y, slope] = convolved(0, channels);
            for (int64_t c = 0; c < channels; c += 13) {
                const auto [one_top, one_top_slope] = pooled(c, c + 1);
                const auto [one_y, one_slope] = convolved(c, c + 1);
                CHECK(difference(one_top, slice(top, 1, c, c + 1)) == "");
                CHECK(difference(one_top_slope, slice(top_slope, 1, c, c + 1)) == "");
                CHECK(difference(one_y, slice(y, 1, c, c + 1)) == "");
                CHECK(difference(one_slope, slice(slope, 0, c, c + 1)) == "");
            }
        });
    }
}

TEST_CASE("gradients of depthwise weights are sums over shifted planes, of taps in any number") {
    const Tensor x = randn(Key{8, 4}, {2, 3, 20, 75}, DType::f64);
    for (const int64_t down : {1, 2, 3, 5})
        for (int64_t across = 1; across <= 9; ++across) {
            CAPTURE(down);
            CAPTURE(across);
            const Tensor w = randn(Key{8, 5}, {3, 1, down, across}, DType::f64);
            const int64_t high = 21 - down, wide = 76 - across;
            const Tensor u = randn(Key{8, 6}, {2, 3, high, wide}, DType::f64);
            Tape tape;
            const Var weights = tape.watch(w),
                      y = conv2d(Var(x), weights, Var(), {1, 1}, Padding::valid, {1}, 3);
            const Tensor slope = tape.gradient(y, {weights}, {.cotangents = {u}})[0];
            for (int64_t i = 0; i < down; ++i)
                for (int64_t j = 0; j < across; ++j) {
                    const Tensor shifted = slice(slice(x, 2, i, i + high), 3, j, j + wide),
                                 want = sum(shifted * u, {0, 2, 3}),
                                 got = slice(slice(slope, 2, i, i + 1), 3, j, j + 1);
                    CHECK(max(abs(reshape(got, {3}) - want)).item<double>() < 1e-11);
                }
        }
}

TEST_CASE("gradients of a line's weights are the same for any threads and on any instruction set") {
    std::vector<std::array<int64_t, 3>> lines;
    for (const int64_t columns : {127, 128, 300, 1000})
        for (const int64_t taps : {1, 5, 63, 64, 70, 129, 251}) lines.push_back({columns, taps, 1});
    for (const int64_t columns : {2048, 2050, 2112, 4300})  // what is met at a time is at its end
        for (const int64_t taps : {3, 64, 70, 200}) lines.push_back({columns, taps, 1});
    // The last tap lies so far from the first as if all lay side by side.
    lines.insert(lines.end(), {{129, 258, 4}, {128, 383, 3}, {129, 132, 130}});
    for (const auto& [columns, taps, stride] : lines) {
        CAPTURE(columns);
        CAPTURE(taps);
        const int64_t reach = (columns - 1) * stride + 1;
        const Tensor x = randn(Key{8, 10}, {2, 2, reach + taps - 1}, DType::f64),
                     w = randn(Key{8, 11}, {2, 1, taps}, DType::f64),
                     u = randn(Key{8, 12}, {2, 2, columns}, DType::f64);
        Tensor first;
        on_every_isa([&] {
            for (const int threads : {1, 2, 5}) {
                set_thread_count(threads);
                Tape tape;
                const Var v = tape.watch(w),
                          y = conv1d(Var(x), v, Var(), stride, Padding::valid, 1, 2);
                const Tensor slope = tape.gradient(y, {v}, {.cotangents = {u}})[0];
                if (first.defined())
                    CHECK(difference(slope, first) == "");
                else
                    first = slope;
            }
        });
        for (int64_t k = 0; k < taps; ++k) {
            const Tensor want = sum(slice(x, 2, k, k + reach, stride) * u, {0, 2}),
                         got = reshape(slice(first, 2, k, k + 1), {2});
            CHECK(max(abs(got - want)).item<double>() < 1e-11);
        }
    }
}

TEST_CASE("strides of any size, and kernels over no planes, cost what their outputs do") {
    const auto peak_of = [](auto run) {
        reset_peak_memory();
        const size_t before = memory_stats().live;
        const Tensor y = run();
        return double(memory_stats().peak - before) / (1 << 20);
    };
    const Tensor line = randn(Key{1, 1}, Shape{1, 1, 5}), taps = randn(Key{1, 2}, Shape{1, 1, 3}),
                 plane = Tensor::ones({1, 1, 600, 600});
    constexpr int64_t far = (int64_t{1} << 31) - 1;
    CHECK(peak_of([&] { return conv1d(line, taps, {}, far); }) < 1);
    CHECK(peak_of([&] { return max_pool1d(line, 2, far); }) < 1);
    CHECK(peak_of([&] { return avg_pool1d(line, 2, far); }) < 1);
    CHECK(peak_of([&] { return conv_transpose1d(line, taps, {}, 1000000); }) < 33);  // of 4000003
    CHECK(peak_of([&] {
              return conv_transpose1d(line.view({0, 1, 5}, {5, 5, 1}, 0), taps, {}, far);
          }) < 1);
    CHECK(peak_of([&] {
              return max_pool1d(line.view({0, 1, 5}, {5, 5, 1}, 0), far, 0, {far - 1});
          }) < 1);
    // Nearly a plane, so that it is no mean: as many remainders as elements.
    Tape tape;
    const Var x = tape.watch(plane);
    const Var y = avg_pool2d(x, {599}, {600}, {0}, false);
    Tensor dx;
    CHECK(peak_of([&] { return dx = tape.gradient(y, {x})[0]; }) < 24);
    CHECK(max(abs(slice(slice(dx, 2, 0, 599), 3, 0, 599) * (599.0 * 599) - 1)).item<float>() <
          1e-5f);
    CHECK(max(abs(slice(dx, 2, 599, 600))).item<float>() == 0);
}

namespace {

/// y and the cotangent of x from g, each as one chain of fma in the order that convolution.h states.
struct Chains {
    int64_t groups, from, to, in[2], kernel[2], stride[2], before[2], out[2]{};

    template <class T>
    void run(const T* x, const T* w, const T* bias, const T* g, T* y, T* dx) const {
        const auto each = [&](int64_t group, auto body) {
            for (int64_t o = 0; o < to; ++o)
                for (int64_t f = 0; f < from; ++f)
                    for (int64_t u = 0; u < kernel[0]; ++u)
                        for (int64_t v = 0; v < kernel[1]; ++v) {
                            const int64_t at_w =
                                (((group * to + o) * from + f) * kernel[0] + u) * kernel[1] + v;
                            for (int64_t r = 0; r < out[0]; ++r)
                                for (int64_t c = 0; c < out[1]; ++c) {
                                    const int64_t i = r * stride[0] + u - before[0],
                                                  j = c * stride[1] + v - before[1];
                                    if (i >= 0 && i < in[0] && j >= 0 && j < in[1])
                                        body(w[at_w], ((group * from + f) * in[0] + i) * in[1] + j,
                                             ((group * to + o) * out[0] + r) * out[1] + c);
                                }
                        }
        };
        for (int64_t k = 0; k < groups * to * out[0] * out[1]; ++k)
            y[k] = bias[k / (out[0] * out[1])];
        for (int64_t k = 0; k < groups * from * in[0] * in[1]; ++k) dx[k] = 0;
        for (int64_t group = 0; group < groups; ++group)
            each(group, [&](T weight, int64_t at_x, int64_t at_y) {
                y[at_y] = std::fma(weight, x[at_x], y[at_y]);
                dx[at_x] = std::fma(weight, g[at_y], dx[at_x]);
            });
    }
};

}  // namespace

TEST_CASE(
    "lines of many taps, narrow planes and single channels are chains in the order of the taps") {
    for (Chains c : {Chains{1, 1, 1, {1, 300}, {1, 40}, {1, 1}, {0, 0}},
                     {3, 1, 1, {1, 131}, {1, 13}, {1, 1}, {0, 6}},
                     {1, 5, 1, {1, 200}, {1, 31}, {1, 1}, {0, 15}},
                     {2, 1, 6, {1, 97}, {1, 12}, {1, 1}, {0, 3}},
                     {1, 7, 1, {9, 40}, {3, 5}, {1, 1}, {1, 2}},
                     {1, 1, 7, {21, 40}, {4, 3}, {2, 2}, {1, 1}},
                     {5, 1, 1, {7, 7}, {7, 7}, {1, 1}, {3, 3}},
                     {5, 1, 1, {14, 14}, {5, 3}, {1, 1}, {2, 1}},
                     {4, 1, 1, {14, 13}, {31, 31}, {1, 1}, {15, 15}},
                     {4, 1, 1, {6, 17}, {2, 1}, {1, 1}, {1, 0}},
                     {4, 1, 1, {5, 9}, {4, 1}, {1, 1}, {0, 0}},
                     {3, 1, 1, {9, 500}, {4, 499}, {1, 1}, {1, 1}},
                     {3, 1, 2, {1, 700}, {1, 40}, {1, 20}, {0, 0}},
                     {1, 4, 3, {2, 333}, {2, 37}, {1, 37}, {0, 9}},
                     {1, 1, 6, {1, 660}, {1, 60}, {1, 20}, {0, 0}},
                     // Of the gradient's parts all are lines, some, or one.
                     {3, 1, 1, {2, 100}, {2, 12}, {2, 1}, {0, 0}},
                     {3, 1, 1, {3, 100}, {3, 12}, {2, 1}, {0, 0}},
                     {3, 1, 1, {2, 100}, {1, 12}, {2, 1}, {0, 0}},
                     {2, 1, 1, {3, 120}, {2, 13}, {3, 1}, {0, 0}}})
        for (const DType dtype : {DType::f32, DType::f64}) {
            for (int a = 0; a < 2; ++a)
                c.out[a] = (c.in[a] + 2 * c.before[a] - c.kernel[a]) / c.stride[a] + 1;
            CAPTURE(to_string(Shape{c.groups, c.from, c.to, c.in[0], c.in[1]}));
            const int64_t ins = c.groups * c.from, outs = c.groups * c.to;
            const Tensor x = randn(Key{8, 7}, {1, ins, c.in[0], c.in[1]}, dtype),
                         w = randn(Key{8, 8}, {outs, c.from, c.kernel[0], c.kernel[1]}, dtype),
                         bias = randn(Key{8, 9}, {outs}, dtype),
                         g = randn(Key{8, 10}, {1, outs, c.out[0], c.out[1]}, dtype),
                         y = Tensor::empty(g.shape(), dtype), dx = Tensor::empty(x.shape(), dtype);
            const auto of = [&]<class T>(T) {
                const auto at = [](const Tensor& t) { return static_cast<T*>(t.raw()); };
                c.run<T>(at(x), at(w), at(bias), at(g), at(y), at(dx));
            };
            dtype == DType::f32 ? of(float()) : of(double());
            on_every_isa([&] {
                for (const int threads : {1, 3}) {
                    set_thread_count(threads);
                    Tape tape;
                    const Var v = tape.watch(x),
                              got =
                                  conv2d(v, Var(w), Var(bias), {c.stride[0], c.stride[1]},
                                         Padding::valid, {1}, c.groups, {c.before[0], c.before[1]});
                    CHECK(difference(got.value(), y) == "");
                    CHECK(difference(tape.gradient(got, {v}, {.cotangents = {g}})[0], dx) == "");
                }
            });
        }
}

TEST_CASE("images of narrow planes, met together, are each as by themselves") {
    constexpr int64_t images = 7, from = 40, to = 33;
    for (const DType dtype : {DType::f32, DType::f64})
        for (const int64_t side : {1, 5, 7})
            for (const int64_t stride : {1, 2}) {
                CAPTURE(side);
                CAPTURE(stride);
                const Tensor x = randn(Key{8, 21}, {images, from, side, side}, dtype),
                             w = randn(Key{8, 22}, {to, from, 3, 3}, dtype),
                             back = randn(Key{8, 23}, {from, to, 3, 3}, dtype),
                             bias = randn(Key{8, 24}, {to}, dtype);
                const auto run = [&](const Tensor& some, bool transposed) {
                    Tape tape;
                    const Var v = tape.watch(some), weights = tape.watch(transposed ? back : w);
                    const Var y =
                        transposed ? conv_transpose2d(v, weights, Var(bias), {stride}, {1, 1})
                                   : conv2d(v, weights, Var(bias), {stride, stride}, Padding::same);
                    auto d = tape.gradient(sum(square(y)), {v, weights});
                    return std::array{y.value(), d[0], d[1]};
                };
                for (const bool transposed : {false, true})
                    on_every_isa([&] {
                        std::array<Tensor, 3> before;
                        for (const int threads : {1, 2, 3}) {
                            set_thread_count(threads);
                            const auto all = run(x, transposed);
                            Tensor slopes = Tensor::zeros(all[2].shape(), DType::f64);
                            for (int64_t i = 0; i < images; ++i) {
                                const auto one =
                                    run(slice(x, 0, i, i + 1).contiguous(), transposed);
                                for (size_t k = 0; k < 2; ++k)
                                    CHECK(difference(one[k],
                                                     slice(all[k], 0, i, i + 1).contiguous()) ==
                                          "");
                                slopes = slopes + cast(one[2], DType::f64);
                            }
                            const double wrong =
                                max(abs(slopes - cast(all[2], DType::f64))).item<double>();
                            CHECK(wrong < (dtype == DType::f32 ? 1e-5 : 1e-14) *
                                              max(abs(slopes)).item<double>());
                            for (size_t k = 0; k < 3 && threads > 1; ++k)
                                CHECK(difference(all[k], before[k]) == "");
                            before = all;
                        }
                    });
            }
}
