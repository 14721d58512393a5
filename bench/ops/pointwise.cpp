// Every pointwise operation of the list, on four million elements (64 Ki of those that iterate): forward, and with its
// derivative.
#include "autograd/call.h"
#include "bench/ops/ops.h"
#include "engine/cpu/pointwise.h"

namespace mercer::bench {
namespace {

// Four operations, one after the other: on values with a name, and on temporaries, whose memory the next result takes over.
void add_expression(int64_t n, const std::string& size) {
    for (const bool named : {true, false})
        add_op(
            (named ? "four operations, named/" : "four operations, temporaries/") + size + " fwd",
            {.bytes = elements(12.0 * double(n))}, [=](DType dtype) {
                return [=, a = randn(Key{4, 1}, {n}, dtype), b = randn(Key{4, 2}, {n}, dtype)] {
                    if (!named) return benchmark::DoNotOptimize(((a + b) * a - b) + a);
                    const Tensor sum = a + b, product = sum * a, less = product - b;
                    benchmark::DoNotOptimize(less + a);
                };
            });
}

// Exponentials that are subnormal or 0, as of masked scores, beside a 0 in each row.
void add_tails() {
    const std::pair<std::string, Tensor (*)(const Tensor&)> functions[] = {
        {"exp", [](const Tensor& x) { return exp(x); }},
        {"softplus", [](const Tensor& x) { return softplus(x); }},
        {"softmax", [](const Tensor& x) { return softmax(x); }}};
    for (const auto& [name, function] : functions)
        for (const bool subnormal : {true, false})
            add_op(name + (subnormal ? " subnormal" : " of -1e9") + "/4096x1024 fwd",
                   {.bytes = elements(2.0 * (4 << 20)), .bound = "the function's arithmetic"},
                   [subnormal, function = function](DType dtype) {
                       const double most = dtype == DType::f64 ? -709 : -88;
                       const Tensor far =
                           subnormal ? uniform(Key{3, 1}, {4096, 1023}, dtype, most - 15, most)
                                     : Tensor::full({4096, 1023}, -1e9, dtype);
                       const Tensor both[] = {Tensor::zeros({4096, 1}, dtype), far};
                       return [function, x = concat(both, 1)] {
                           benchmark::DoNotOptimize(function(x));
                       };
                   });
}

/// Rows shorter than a register, with an operand that repeats over them or along them.
void add_thin_rows() {
    constexpr int64_t n = 4 << 18;
    for (const Shape& shape : {Shape{3}, Shape{n, 1}})
        add_op(std::string("mul/1Mx3 by ") + (shape.rank() == 1 ? "a row" : "a column"),
               {.bytes = elements(6.0 * n + double(count(shape)))}, [=](DType dtype) {
                   return [x = randn(Key{1, 1}, {n, 3}, dtype),
                           y = randn(Key{1, 2}, shape, dtype)] { benchmark::DoNotOptimize(x * y); };
               });
    // And one that repeats over a middle axis.
    add_op(
        "mul/100000x3x16 by 100000x1x16", {.bytes = elements(7.0 * 100000 * 16)}, [=](DType dtype) {
            return
                [x = randn(Key{1, 1}, {100000, 3, 16}, dtype),
                 y = randn(Key{1, 2}, {100000, 1, 16}, dtype)] { benchmark::DoNotOptimize(x * y); };
        });
}

}  // namespace

void add_ops_pointwise() {
    add_thin_rows();
    add_expression(1 << 10, "1K");
    add_expression(256 << 10, "256K");
    add_expression(4 << 20, "4M");
    add_tails();
    constexpr double dear =
                         6.5,  // ns for 16 floats, from which arithmetic is the limit, not memory
        dear_f64 = 4.5,        // and for doubles
        iterates = 200;
    for (const Callable& c : callables()) {
        if (!c.info->pointwise) continue;
        const size_t arity = c.parameters.size();
        const std::string name(c.info->name);
        const double cost = c.info->pointwise->kernels().cost;
        const char* bound = cost > dear       ? "the function's arithmetic"
                            : cost > dear_f64 ? "copy; f64: the function's arithmetic"
                                              : "";
        const int64_t n = cost > iterates ? 64 << 10 : 4 << 20;
        const std::string size = cost > iterates ? "64K" : "4M";
        const double low = c.info->domain == "beyond" ? 1.25 : 0.25;
        const auto operands = [arity, n, low](DType dtype) {
            std::vector<Tensor> x;
            for (size_t k = 0; k < arity; ++k)
                x.push_back(uniform(Key{1, k}, {n}, dtype, low, low + 0.5));
            return x;
        };
        const auto apply = [&c](std::span<const Var> x) {
            std::vector<Argument> arguments;
            for (const Var& v : x) arguments.push_back(std::vector<Var>{v});
            return c.invoke(arguments)[0];
        };
        const auto streams = double(arity + 1);
        add_op(name + "/" + size + " fwd", {.bytes = elements(double(n) * streams), .bound = bound},
               [=](DType dtype) {
                   return [=, x = operands(dtype)] {
                       const std::vector<Var> constants(x.begin(), x.end());
                       benchmark::DoNotOptimize(apply(constants));
                   };
               });
        add_op(name + "/" + size + " fwd+bwd",
               {.bytes = elements(double(n) * (3 * streams - 1)), .bound = bound},
               [=](DType dtype) {
                   return [=, x = operands(dtype), g = randn(Key{2, 2}, {n}, dtype),
                           tape = std::make_shared<Tape>()] {
                       tape->reset();
                       std::vector<Var> leaves;
                       for (const Tensor& t : x) leaves.push_back(tape->watch(t));
                       const GradientOptions options{.cotangents = {g}};
                       benchmark::DoNotOptimize(tape->gradient(apply(leaves), leaves, options));
                   };
               });
    }
}

}  // namespace mercer::bench
