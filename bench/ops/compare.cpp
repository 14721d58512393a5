// Comparisons, logic and tests, on four million elements.
#include "bench/ops/ops.h"

namespace mercer::bench {

void add_ops_compare() {
    constexpr int64_t n = 4 << 20;
    const auto operand = [](DType dtype, uint64_t stream) {
        return uniform(Key{1, stream}, {n}, dtype, -1, 1);
    };
    const auto pair = [=](const char* name, Tensor (*f)(const Tensor&, const Tensor&)) {
        add_op(std::string(name) + "/4M fwd", {.bytes = 2.25 * elements(n)}, [=](DType dtype) {
            return [f, a = operand(dtype, 1), b = operand(dtype, 2)] {
                benchmark::DoNotOptimize(f(a, b));
            };
        });
    };
    const auto single = [=](const char* name, Tensor (*f)(const Tensor&)) {
        add_op(std::string(name) + "/4M fwd", {.bytes = 1.25 * elements(n)}, [=](DType dtype) {
            return [f, x = operand(dtype, 1)] { benchmark::DoNotOptimize(f(x)); };
        });
    };
    pair("equal", equal);
    pair("not_equal", not_equal);
    pair("less", less);
    pair("less_equal", less_equal);
    pair("greater", greater);
    pair("greater_equal", greater_equal);
    single("isnan", isnan);
    single("isinf", isinf);
    single("isfinite", isfinite);
    const auto logic = [=](const char* name, Tensor (*f)(const Tensor&, const Tensor&)) {
        add_op(std::string(name) + "/16M fwd", {.bytes = 3.0 * 4 * n},
               [=](DType dtype) {  // as many bytes as the other dtype has
                   const Tensor a = greater(uniform(Key{1, 1}, {int64_t(size_of(dtype)) * n}), 0.5),
                                b = logical_not(a);
                   return [=] { benchmark::DoNotOptimize(f(a, b)); };
               });
    };
    logic("logical_and", logical_and);
    logic("logical_or", logical_or);
    logic("logical_xor", logical_xor);
    logic("logical_not", [](const Tensor& a, const Tensor&) { return logical_not(a); });
}

}  // namespace mercer::bench
