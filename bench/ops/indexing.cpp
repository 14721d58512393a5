// Picking and adding up by index: rows, single elements along an axis, at random places.
#include "bench/ops/ops.h"

namespace mercer::bench {
namespace {

constexpr const char* random_access = "random access";

Tensor random_index(const Shape& shape, int64_t below) {
    return cast(uniform(Key{1, 9}, shape, DType::f64, 0, double(below)), DType::i64);
}

/// f(x, index) at random places of a table; `moved` elements, at least.
void add(const std::string& name, const Shape& table, const Shape& index, int64_t below,
         double moved, Tensor (*f)(const Tensor&, const Tensor&), const char* bound = "") {
    add_op(name, {.bytes = elements(moved), .bound = bound, .fixed = 8.0 * double(count(index))},
           [=](DType dtype) {
               return [f, x = uniform(Key{1, 1}, table, dtype, -1, 1),
                       i = random_index(index, below)] { benchmark::DoNotOptimize(f(x, i)); };
           });
}

}  // namespace

void add_ops_indexing() {
    constexpr int64_t n = 4 << 20;
    const auto rows = [](const Tensor& x, const Tensor& i) { return index_select(x, i, 0); };
    add("index_select/32768x128 65536 rows", {32768, 128}, {65536}, 32768, 4.0 * n, rows);
    add("index_select/32768x32 262144 rows", {32768, 32}, {262144}, 32768, 4.0 * n, rows);
    add("index_select/1M 4M elements", {1 << 20}, {n}, 1 << 20, 2.0 * n, rows, random_access);
    add(
        "index_select/2048x2048 axis 1", {2048, 2048}, {2048}, 2048, 2.0 * n,
        [](const Tensor& x, const Tensor& i) { return index_select(x, i, 1); }, random_access);
    const auto gathers = [](const Tensor& x, const Tensor& i) { return gather(x, i, -1); };
    add("gather/2048x2048 last axis", {2048, 2048}, {2048, 2048}, 2048, 2.0 * n, gathers,
        random_access);
    add("gather/1Mx4 last axis", {1 << 20, 4}, {1 << 20, 4}, 4, 2.0 * n, gathers, random_access);
    // Every element picked is a cache line read.
    add_op("gather/131072x32 one of each",
           {.bytes = elements(131072), .bound = random_access, .fixed = (64 + 8) * 131072},
           [=](DType dtype) {
               return [x = uniform(Key{1, 1}, {131072, 32}, dtype, -1, 1),
                       i = random_index({131072, 1}, 32)] {
                   benchmark::DoNotOptimize(gather(x, i, -1));
               };
           });
    add(
        "gather/2048x2048 axis 0", {2048, 2048}, {2048, 2048}, 2048, 2.0 * n,
        [](const Tensor& x, const Tensor& i) { return gather(x, i, 0); }, random_access);
    add("scatter_add/65536x128 rows into 32768", {65536, 128}, {65536, 1}, 32768, 3.0 * n,
        [](const Tensor& x, const Tensor& i) { return scatter_add(x, i, 0, 32768); });
    add("scatter_add/262144x32 rows into 1000", {262144, 32}, {262144, 1}, 1000, 2.0 * n,
        [](const Tensor& x, const Tensor& i) { return scatter_add(x, i, 0, 1000); });
    add(
        "scatter_add/4M elements into 1M", {n}, {n}, 1 << 20, 1.25 * n,
        [](const Tensor& x, const Tensor& i) { return scatter_add(x, i, 0, 1 << 20); },
        random_access);
    add(
        "scatter_add/2048x2048 last axis", {2048, 2048}, {2048, 2048}, 2048, 2.0 * n,
        [](const Tensor& x, const Tensor& i) { return scatter_add(x, i, -1, 2048); },
        random_access);
    add(
        "scatter_add/2048x2048 axis 0", {2048, 2048}, {2048, 2048}, 2048, 2.0 * n,
        [](const Tensor& x, const Tensor& i) { return scatter_add(x, i, 0, 2048); }, random_access);
    add(
        "scatter/2048x2048 last axis", {2048, 2048}, {2048, 2048}, 2048, 3.0 * n,
        [](const Tensor& x, const Tensor& i) { return scatter(x, i, x, -1); }, random_access);
    add("scatter/65536x64 rows", {65536, 64}, {65536, 1}, 65536, 3.0 * n,
        [](const Tensor& x, const Tensor& i) { return scatter(x, i, x, 0); });
    add_op("one_hot/32768 into 128", {.bytes = elements(n), .fixed = 8 * 32768}, [](DType dtype) {
        return [dtype, i = random_index({32768}, 128)] {
            benchmark::DoNotOptimize(one_hot(i, 128, dtype));
        };
    });
}

}  // namespace mercer::bench
