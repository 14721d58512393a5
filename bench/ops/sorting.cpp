// Sorting: the peers' cases.
#include "bench/ops/ops.h"

namespace mercer::bench {

void add_ops_sorting() {
    const Work work{.bound = "sort"};
    struct Case {
        const char* what;
        Shape shape;
        int axis;
    };
    for (const Case& c :
         {Case{"4096x1024 axis1", {4096, 1024}, 1}, Case{"4096x1024 axis0", {4096, 1024}, 0},
          Case{"1x4M axis1", {1, 4 << 20}, 1}, Case{"512Kx8 axis1", {512 << 10, 8}, 1},
          Case{"1Mx4 axis1", {1 << 20, 4}, 1}, Case{"128Kx32 axis1", {128 << 10, 32}, 1},
          Case{"32Kx128 axis1", {32 << 10, 128}, 1},
          Case{"1024x4x1024 axis1", {1024, 4, 1024}, 1}}) {
        const auto add = [&](const char* name, auto f) {
            add_op(std::string(name) + "/" + c.what + " fwd", work, [=](DType dtype) {
                return [f, axis = c.axis, x = randn(Key{1, 1}, c.shape, dtype)] {
                    benchmark::DoNotOptimize(f(x, axis));
                };
            });
        };
        add("sort", [](const Tensor& x, int axis) { return sort(x, axis); });
        add("argsort", [](const Tensor& x, int axis) { return argsort(x, axis); });
    }
    add_op("searchsorted/4M into 64K",
           {.bytes = elements(4 << 20), .bound = "comparisons", .fixed = 8 * (4 << 20)},
           [](DType dtype) {
               return [b = sort(randn(Key{1, 2}, {1 << 16}, dtype)).first,
                       x = randn(Key{1, 1}, {4 << 20}, dtype)] {
                   benchmark::DoNotOptimize(searchsorted(b, x));
               };
           });
    // Almost all values lie before the first few of the boundaries: branches would be foreseen.
    add_op("searchsorted/4M into a few of 64K",
           {.bytes = elements(4 << 20), .bound = "comparisons", .fixed = 8 * (4 << 20)},
           [](DType dtype) {
               return [b = cumsum(abs(randn(Key{1, 2}, {1 << 16}, dtype)), 0),
                       x = randn(Key{1, 1}, {4 << 20}, dtype)] {
                   benchmark::DoNotOptimize(searchsorted(b, x));
               };
           });
    add_op("topk/40000x100 k3 fwd", {.bytes = elements(4000000), .bound = "comparisons"},
           [](DType dtype) {
               return [x = randn(Key{1, 1}, {40000, 100}, dtype)] {
                   benchmark::DoNotOptimize(topk(x, 3));
               };
           });
    for (int64_t k : {1, 10, 100})
        add_op("topk/4096x1024 k" + std::to_string(k) + " fwd",
               {.bytes = elements(4 << 20), .bound = "comparisons"}, [=](DType dtype) {
                   return [k, x = randn(Key{1, 1}, {4096, 1024}, dtype)] {
                       benchmark::DoNotOptimize(topk(x, k));
                   };
               });
}

}  // namespace mercer::bench
