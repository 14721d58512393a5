// Every pointwise operation of the list, on four million elements: forward, and its derivative.
#include "autograd/call.h"
#include "bench/ops/ops.h"

namespace mercer::bench {

void add_ops_pointwise() {
    constexpr int64_t n = 4 << 20;
    for (const Callable& c : callables()) {
        if (!c.info->pointwise) continue;
        const size_t arity = c.parameters.size();
        const std::string name(c.info->name);
        const auto operands = [arity](DType dtype) {
            std::vector<Var> x;
            for (size_t k = 0; k < arity; ++k)
                x.push_back(uniform(Key{1, k}, {n}, dtype, 0.25, 0.75));
            return x;
        };
        const auto apply = [&c](const std::vector<Var>& x) {
            std::vector<Argument> arguments;
            for (const Var& v : x) arguments.push_back(std::vector<Var>{v});
            return c.invoke(arguments)[0];
        };
        add_op(name + "/4M fwd", {.bytes = elements(double(n * int64_t(arity + 1)))},
               [=](DType dtype) {
                   return [=, x = operands(dtype)] { benchmark::DoNotOptimize(apply(x)); };
               });
    }
}

}  // namespace mercer::bench
