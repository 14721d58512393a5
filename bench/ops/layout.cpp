// Views, copies that change the layout, and choice, on about four million elements.
#include "bench/ops/ops.h"

namespace mercer::bench {
namespace {

using List = std::vector<int64_t>;
constexpr int64_t n = 4 << 20;

/// f(x) for x of `shape`, uniform; `moved`: elements read and written.
void add(const std::string& name, const Shape& shape, double moved, Tensor (*f)(const Tensor&),
         double fixed = 0) {
    add_op(name, {.bytes = elements(moved), .bound = moved ? "" : "a view", .fixed = fixed},
           [=](DType dtype) {
               return [f, x = uniform(Key{1, 1}, shape, dtype, -1, 1)] {
                   benchmark::DoNotOptimize(f(x));
               };
           });
}

}  // namespace

void add_ops_layout() {
    const Shape flat{n}, square{2048, 2048}, heads{16, 128, 32, 64}, image{16, 64, 64, 64};
    // Views.
    add("reshape/4M", square, 0, [](const Tensor& x) { return reshape(x, {-1, 64}); });
    add("permute/16x128x32x64 view", heads, 0, [](const Tensor& x) {
        return permute(x, {0, 2, 1, 3});
    });
    add("transpose/2048 view", square, 0, [](const Tensor& x) { return transpose(x); });
    add("broadcast_to/2048", {2048}, 0, [](const Tensor& x) {
        return broadcast_to(x, {2048, 2048});
    });
    add("slice/2048 step 2", square, 0, [](const Tensor& x) { return slice(x, 1, 0, 2048, 2); });
    add("split/2048 in two", square, 0, [](const Tensor& x) {
        return split(x, List{1024, 1024}, 1)[1];
    });
    add("flip/2048 view", square, 0, [](const Tensor& x) { return flip(x, 1); });
    add("unsqueeze/2048", square, 0, [](const Tensor& x) { return unsqueeze(x, 1); });
    add("squeeze/2048", {2048, 1, 2048}, 0, [](const Tensor& x) { return squeeze(x, 1); });
    constexpr double copied = 2.0 * n;
    // Formulas of views, read where they lie.
    add("add transposed/2048", square, copied, [](const Tensor& x) { return x + transpose(x); });
    add("add a row/2048", square, copied, [](const Tensor& x) { return x + slice(x, 0, 0, 1); });
    add("add a column/2048", square, copied, [](const Tensor& x) { return x + slice(x, 1, 0, 1); });
    add("sqrt transposed/2048", square, copied, [](const Tensor& x) { return sqrt(transpose(x)); });
    add("sqrt permuted 210/64x256x256", {64, 256, 256}, copied, [](const Tensor& x) {
        return sqrt(permute(x, {2, 1, 0}));
    });
    // Views made dense.
    add("transpose/2048 dense", square, copied,
        [](const Tensor& x) { return transpose(x).contiguous(); });
    add("transpose/64x256x256 dense", {64, 256, 256}, copied,
        [](const Tensor& x) { return transpose(x).contiguous(); });
    add("transpose/1048576x4 dense", {1 << 20, 4}, copied,
        [](const Tensor& x) { return transpose(x).contiguous(); });
    add("transpose/4x1048576 dense", {4, 1 << 20}, copied,
        [](const Tensor& x) { return transpose(x).contiguous(); });
    add("permute/16x128x32x64 0213 dense", heads, copied, [](const Tensor& x) {
        return permute(x, {0, 2, 1, 3}).contiguous();
    });
    add("permute/16x128x32x64 0231 dense", heads, copied, [](const Tensor& x) {
        return permute(x, {0, 2, 3, 1}).contiguous();
    });
    add("permute/16x64x64x64 0231 dense", image, copied, [](const Tensor& x) {
        return permute(x, {0, 2, 3, 1}).contiguous();
    });
    add("permute/16x64x64x64 0312 dense", image, copied, [](const Tensor& x) {
        return permute(x, {0, 3, 1, 2}).contiguous();
    });
    add("permute/160x160x160 210 dense", {160, 160, 160}, 2.0 * 160 * 160 * 160,
        [](const Tensor& x) {
            return permute(x, {2, 1, 0}).contiguous();
        });
    add("flip/2048 dense", square, copied, [](const Tensor& x) { return flip(x, 1).contiguous(); });
    add("slice/2048x4096 step 2 dense", {2048, 4096}, 3.0 * n,
        [](const Tensor& x) { return slice(x, 1, 0, 4096, 2).contiguous(); });
    add("broadcast_to/2048 dense", {2048}, n, [](const Tensor& x) {
        return broadcast_to(x, {2048, 2048}).contiguous();
    });
    add("broadcast_to/2048x1 dense", {2048, 1}, n, [](const Tensor& x) {
        return broadcast_to(x, {2048, 2048}).contiguous();
    });
    // Copies.
    add("sum_to/2048 rows", square, n, [](const Tensor& x) { return sum_to(x, {2048, 1}); });
    add("sum_to/2048 columns", square, n, [](const Tensor& x) { return sum_to(x, {2048}); });
    add("unslice/2048x1024 into 2048", {2048, 1024}, 1.5 * n, [](const Tensor& x) {
        return unslice(x, {2048, 2048}, 1, 512, 1);
    });
    add("unslice/2048x1024 step 2", {2048, 1024}, 1.5 * n, [](const Tensor& x) {
        return unslice(x, {2048, 2048}, 1, 0, 2);
    });
    add("concat/2 of 1024x2048 axis 0", {1024, 2048}, copied, [](const Tensor& x) {
        return concat({x, x}, 0);
    });
    add("concat/2 of 2048x1024 axis 1", {2048, 1024}, copied, [](const Tensor& x) {
        return concat({x, x}, 1);
    });
    add("concat/8 of 65536x8 axis 1", {65536, 8}, copied, [](const Tensor& x) {
        return concat({x, x, x, x, x, x, x, x}, 1);
    });
    add("stack/2 of 1024x2048 axis 0", {1024, 2048}, copied, [](const Tensor& x) {
        return stack(std::vector<Tensor>{x, x}, 0);
    });
    add("stack/2 of 2M axis 1", {n / 2}, copied, [](const Tensor& x) {
        return stack(std::vector<Tensor>{x, x}, 1);
    });
    add("pad/2048 constant", square, copied, [](const Tensor& x) {
        return pad(x, List{1, 1}, List{1, 1});
    });
    add("pad/16x64x64x64 constant", image, copied, [](const Tensor& x) {
        return pad(x, List{0, 0, 1, 1}, List{0, 0, 1, 1});
    });
    add("pad/16x64x64x64 reflect", image, copied, [](const Tensor& x) {
        return pad(x, List{0, 0, 1, 1}, List{0, 0, 1, 1}, PadMode::reflect);
    });
    add("pad/16x64x64x64 edge", image, copied, [](const Tensor& x) {
        return pad(x, List{0, 0, 1, 1}, List{0, 0, 1, 1}, PadMode::edge);
    });
    add("pad/2048 reflect axis 1", square, copied, [](const Tensor& x) {
        return pad(x, List{0, 2}, List{0, 2}, PadMode::reflect);
    });
    add("roll/2048 axis 1", square, copied, [](const Tensor& x) { return roll(x, 100, 1); });
    add("roll/2048 axis 0", square, copied, [](const Tensor& x) { return roll(x, 100, 0); });
    add("tile/2048x512 by 4", {2048, 512}, 1.25 * n, [](const Tensor& x) {
        return tile(x, List{1, 4});
    });
    add("repeat/1M by 4", {n / 4}, 1.25 * n, [](const Tensor& x) { return repeat(x, 4); });
    add("repeat/512x2048 by 4 axis 0", {512, 2048}, 1.25 * n,
        [](const Tensor& x) { return repeat(x, 4, 0); });
    // Conversion and choice.
    add_op("cast/4M f32 and f64", {.fixed = 12.0 * n}, [=](DType dtype) {
        return [x = uniform(Key{1, 1}, flat, dtype, -1, 1),
                to = dtype == DType::f32 ? DType::f64 : DType::f32] {
            benchmark::DoNotOptimize(cast(x, to));
        };
    });
    add(
        "cast/4M to i32", flat, n, [](const Tensor& x) { return cast(x, DType::i32); }, 4.0 * n);
    add(
        "cast/4M to i64", flat, n, [](const Tensor& x) { return cast(x, DType::i64); }, 8.0 * n);
    add(
        "cast/4M to bool", flat, n, [](const Tensor& x) { return cast(x, DType::boolean); },
        1.0 * n);
    add(
        "cast/4M to bf16", flat, n, [](const Tensor& x) { return cast(x, DType::bf16); }, 2.0 * n);
    for (DType from : {DType::i32, DType::i64, DType::boolean, DType::bf16})
        add_op("cast/4M from " + std::string(name_of(from)),
               {.bytes = elements(n), .fixed = double(size_of(from)) * n}, [=](DType dtype) {
                   return [dtype, x = cast(uniform(Key{1, 1}, flat, DType::f32, 0, 9), from)] {
                       benchmark::DoNotOptimize(cast(x, dtype));
                   };
               });
    const auto masked = [=](const std::string& name, double streams, auto f) {
        add_op(name, {.bytes = elements(streams * n), .fixed = 1.0 * n}, [=](DType dtype) {
            const Tensor x = uniform(Key{1, 1}, flat, dtype, -1, 1);
            return [=, y = uniform(Key{1, 2}, flat, dtype), mask = greater(x, 0.0)] {
                benchmark::DoNotOptimize(f(mask, x, y));
            };
        });
    };
    masked("where/4M", 3,
           [](const Tensor& m, const Tensor& x, const Tensor& y) { return where(m, x, y); });
    masked("masked_fill/4M", 2,
           [](const Tensor& m, const Tensor& x, const Tensor&) { return masked_fill(x, m, -1); });
}

}  // namespace mercer::bench
