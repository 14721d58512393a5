// Convolutions of the sizes that networks have: forward, and each gradient alone.
#include "bench/ops/ops.h"

namespace mercer::bench {
namespace {

struct Sizes {
    const char* name;
    Shape x, w;
    int64_t groups = 1, stride = 1;
};

// Along an axis of n samples, one output for each, padded alike on both sides: taps that meet samples.
double taps_inside(int64_t n, int64_t kernel) {
    int64_t taps = 0;
    for (int64_t out = 0; out < n; ++out)
        for (int64_t k = 0; k < kernel; ++k) {
            const int64_t at = out + k - (kernel - 1) / 2;
            taps += at >= 0 && at < n;
        }
    return double(taps);
}

// y = conv(x, w), then `pull` of (tape, y, x, w) from a fixed cotangent.
void add(const Sizes& s) {
    const bool one = s.x.rank() == 3;
    const auto conv = [one, groups = s.groups, stride = s.stride](const auto& x, const auto& w) {
        return one ? conv1d(x, w, {}, stride, Padding::same, 1, groups)
                   : conv2d(x, w, {}, {stride}, Padding::same, {1}, groups);
    };
    const double outs = double(count(s.x)) / double(s.x[1]) * double(s.w[0]) /
                        double(one ? s.stride : s.stride * s.stride);
    const double flops = 2 * outs * double(count(s.w)) / double(s.w[0]);
    const bool depthwise = s.groups == s.x[1] && s.groups > 1;
    Work work{.flops = flops};
    if (depthwise) {
        // Narrow planes have many taps in the padding, which need not be met.
        work = {.flops = 2 * double(s.x[0] * s.x[1]), .bytes = elements(double(count(s.x)) + outs)};
        for (const int axis : {2, 3}) work.flops *= taps_inside(s.x[axis], s.w[axis]);
    }
    const std::string base = std::string(one ? "conv1d/" : "conv2d/") + s.name;
    add_op(base + " fwd", work, [=](DType dtype) {
        return [conv, x = cast(normal(1, s.x), dtype), w = cast(normal(2, s.w), dtype)] {
            benchmark::DoNotOptimize(conv(x, w));
        };
    });
    for (const bool of_x : {true, false})
        add_op(base + (of_x ? " dx" : " dw"), work, [=](DType dtype) {
            auto tape = std::make_shared<Tape>();
            Var x(cast(normal(1, s.x), dtype)), w(cast(normal(2, s.w), dtype));
            Var& leaf = of_x ? x : w;
            leaf = tape->watch(leaf.value());
            const Var y = conv(x, w), at = leaf;
            const Tensor g = cast(normal(3, y.shape()), dtype);
            return [=] {
                benchmark::DoNotOptimize(
                    tape->gradient(y, std::span(&at, 1), {.retain = true, .cotangents = {g}}));
            };
        });
}

// Forward and gradient of a pooling of x.
template <class Pool>
void add_pool(const std::string& name, const Shape& x, double outs, Pool pool) {
    add_op(name + " fwd", {.bytes = elements(double(count(x)) + outs)}, [=](DType dtype) {
        return [pool, v = cast(normal(1, x), dtype)] { benchmark::DoNotOptimize(pool(v)); };
    });
    add_op(name + " dx", {.bytes = elements(2 * double(count(x)) + outs)}, [=](DType dtype) {
        auto tape = std::make_shared<Tape>();
        const Var v = tape->watch(cast(normal(1, x), dtype)), y = pool(v);
        const Tensor g = cast(normal(3, y.shape()), dtype);
        return [=] {
            benchmark::DoNotOptimize(
                tape->gradient(y, std::span(&v, 1), {.retain = true, .cotangents = {g}}));
        };
    });
}

}  // namespace

void add_ops_convolution() {
    for (const Sizes& s : std::vector<Sizes>{
             {"50x300x64 k3 to 128", {50, 300, 64}, {128, 300, 3}},
             {"50x300x64 k5 to 128", {50, 300, 64}, {128, 300, 5}},
             {"8x64x56x56 k3 to 64", {8, 64, 56, 56}, {64, 64, 3, 3}},
             {"8x64x56x56 k1 to 128", {8, 64, 56, 56}, {128, 64, 1, 1}},
             {"8x3x224x224 k16 s16 to 768", {8, 3, 224, 224}, {768, 3, 16, 16}, 1, 16},
             {"8x128x56x56 k3 depthwise", {8, 128, 56, 56}, {128, 1, 3, 3}, 128},
             {"8x384x14x14 k7 depthwise", {8, 384, 14, 14}, {384, 1, 7, 7}, 384},
             {"8x384x7x7 k7 depthwise", {8, 384, 7, 7}, {384, 1, 7, 7}, 384},
             {"8x1x16000 k251 to 64", {8, 1, 16000}, {64, 1, 251}},
             {"8x1x16000 k251 to 1", {8, 1, 16000}, {1, 1, 251}}})
        add(s);
    add_op("conv_transpose1d/50x128x64 k3 to 300", {.flops = 2.0 * 50 * 128 * 64 * 300 * 3},
           [](DType dtype) {
               return [x = cast(normal(1, {50, 128, 64}), dtype),
                       w = cast(normal(2, {128, 300, 3}), dtype)] {
                   benchmark::DoNotOptimize(conv_transpose1d(x, w));
               };
           });
    add_op("conv_transpose1d/1x514x400 k512 s128 to 1", {.flops = 2.0 * 514 * 400 * 512},
           [](DType dtype) {
               return [x = cast(normal(1, {1, 514, 400}), dtype),
                       w = cast(normal(2, {514, 1, 512}), dtype)] {
                   benchmark::DoNotOptimize(conv_transpose1d(x, w, {}, 128));
               };
           });
    add_op("conv_transpose2d/8x64x56x56 k3 to 64", {.flops = 2.0 * 8 * 64 * 56 * 56 * 64 * 9},
           [](DType dtype) {
               return [x = cast(normal(1, {8, 64, 56, 56}), dtype),
                       w = cast(normal(2, {64, 64, 3, 3}), dtype)] {
                   benchmark::DoNotOptimize(conv_transpose2d(x, w));
               };
           });
    const Shape x{8, 64, 112, 112}, line{50, 128, 512};
    const double quarter = double(count(x)) / 4;
    add_pool("max_pool2d/8x64x112x112 k3 s2", x, quarter,
             [](const auto& v) { return max_pool2d(v, {3}, {2}, {1}); });
    add_pool("max_pool2d/8x64x112x112 k2 s2", x, quarter,
             [](const auto& v) { return max_pool2d(v, {2}); });
    add_pool("max_pool2d/8x256x20x20 k13 s1", {8, 256, 20, 20}, 8 * 256 * 400,
             [](const auto& v) { return max_pool2d(v, {13}, {1}, {6}); });
    add_pool("avg_pool1d/32x64x4096 k64", {32, 64, 4096}, 32 * 64 * 64,
             [](const auto& v) { return avg_pool1d(v, 64); });
    add_pool("avg_pool2d/8x64x112x112 k2 s2", x, quarter,
             [](const auto& v) { return avg_pool2d(v, {2}); });
    add_pool("max_pool1d/50x128x512 k2", line, double(count(line)) / 2,
             [](const auto& v) { return max_pool1d(v, 2); });
    add_pool("avg_pool1d/50x128x512 k2", line, double(count(line)) / 2,
             [](const auto& v) { return avg_pool1d(v, 2); });
}

}  // namespace mercer::bench
