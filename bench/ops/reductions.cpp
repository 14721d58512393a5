// Reductions and scans over the first, a middle and the last axis of 16M elements, and of a transposed view.
#include <cmath>

#include "bench/ops/ops.h"

namespace mercer::bench {
namespace {

using Reduce = Tensor (*)(const Tensor&, int axis);

struct Row {
    const char* name;
    Reduce f;
    bool scans, places = false;  // an index (i64) for every element too
};
const Row rows[] = {
    {"sum", [](const Tensor& x, int a) { return sum(x, {a}); }, false},
    {"mean", [](const Tensor& x, int a) { return mean(x, {a}); }, false},
    {"max", [](const Tensor& x, int a) { return max(x, {a}); }, false},
    {"min", [](const Tensor& x, int a) { return min(x, {a}); }, false},
    {"prod", [](const Tensor& x, int a) { return prod(x, {a}); }, false},
    {"var", [](const Tensor& x, int a) { return var(x, {a}); }, false},
    {"stddev", [](const Tensor& x, int a) { return stddev(x, {a}); }, false},
    {"norm_p", [](const Tensor& x, int a) { return norm_p(x, {a}); }, false},
    {"any", [](const Tensor& x, int a) { return any(x, {a}); }, false},
    {"all", [](const Tensor& x, int a) { return all(x, {a}); }, false},
    {"count_nonzero", [](const Tensor& x, int a) { return count_nonzero(x, {a}); }, false},
    {"argmax", [](const Tensor& x, int a) { return argmax(x, a); }, false},
    {"argmin", [](const Tensor& x, int a) { return argmin(x, a); }, false},
    {"cumsum", [](const Tensor& x, int a) { return cumsum(x, a); }, true},
    {"cumprod", [](const Tensor& x, int a) { return cumprod(x, a); }, true},
    {"cummax", [](const Tensor& x, int a) { return cummax(x, a).first; }, true, true},
    {"cummin", [](const Tensor& x, int a) { return cummin(x, a).first; }, true, true},
    {"linear_recurrence", [](const Tensor& x, int a) { return linear_recurrence(x, x, a); }, true},
};

}  // namespace

void add_ops_reductions() {
    struct Case {
        const char* what;
        Shape shape;
        int axis;
        bool transposed;
    };
    for (const Row& row : rows)
        for (const Case& c : {Case{"4096x4096 axis0", {4096, 4096}, 0, false},
                              Case{"4096x4096 axis1", {4096, 4096}, 1, false},
                              Case{"256x256x256 axis1", {256, 256, 256}, 1, false},
                              Case{"4096x4096 transposed axis1", {4096, 4096}, 1, true},
                              Case{"2Mx8 axis1", {2 << 20, 8}, 1, false},
                              Case{"512Kx10x3 axis1", {1 << 19, 10, 3}, 1, false}})
            add_op(std::string(row.name) + "/" + c.what + " fwd",
                   {.bytes = (row.scans ? 2 : 1) * elements(16 << 20),
                    .fixed = row.places ? 8.0 * (16 << 20) : 0},
                   [=](DType dtype) {
                       // Near 1, so that products stay in range.
                       const Tensor x = uniform(Key{1, 1}, c.shape, dtype, 0.99, 1.01);
                       return [f = row.f, x = c.transposed ? transpose(x) : x, axis = c.axis] {
                           benchmark::DoNotOptimize(f(x, axis));
                       };
                   });
}

}  // namespace mercer::bench
