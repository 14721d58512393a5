// Triangles of matrices.
#include "bench/ops/ops.h"

namespace mercer::bench {

void add_ops_triangles() {
    constexpr double n = 2048;
    const auto add = [](const std::string& name, Tensor (*f)(const Tensor&)) {
        add_op(name + "/2048", {.bytes = elements(2 * n * n)}, [=](DType dtype) {
            return
                [f, x = randn(Key{1, 1}, {2048, 2048}, dtype)] { benchmark::DoNotOptimize(f(x)); };
        });
    };
    add("tril", [](const Tensor& x) { return tril(x); });
    add("triu", [](const Tensor& x) { return triu(x); });
}

}  // namespace mercer::bench
