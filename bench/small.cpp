// What operations cost on a few elements, where nearly all of it is the way there: checks, memory for the result, the
// tape. In ns, one operation each; fwdbwd with what a tape and a walk back over it take.
#include "bench/cases.h"

namespace mercer::bench {
namespace {

template <class F, class... Leaf>
void add_small(const std::string& name, F f, const Leaf&... leaf) {
    const auto add = [&](const char* pass, auto run) {
        add_case("small/" + name + pass, [=](benchmark::State& state) {
            run(state, f, leaf...);
        })->Unit(benchmark::kNanosecond);
    };
    add("/fwd", [](auto&... x) { forward(x...); });
    add("/fwdbwd", [](auto&... x) { forward_backward(x...); });
}

}  // namespace

void add_small() {
    const Tensor x = normal(1, {8}), y = normal(2, {8}), m = normal(3, {4, 8}),
                 w = normal(4, {8, 8}), column = normal(5, {4, 1}), mask = greater(m, 0),
                 ids = Tensor::from(std::vector<int64_t>{1, 3, 5, 0});
    add_small(
        "add", [](const auto& a, const auto& b) { return a + b; }, x, y);
    add_small(
        "add_number", [](const auto& a) { return a + 1.0; }, x);
    add_small(
        "add_row", [](const auto& a, const auto& b) { return a + b; }, m, x);
    add_small(
        "mul_column", [](const auto& a, const auto& b) { return a * b; }, m, column);
    add_small(
        "exp", [](const auto& a) { return exp(a); }, x);
    add_small(
        "where", [=](const auto& a, const auto& b) { return where(mask, a, b); }, m, column);
    add_small(
        "sum", [](const auto& a) { return sum(a); }, m);
    add_small(
        "mean_rows", [](const auto& a) { return mean(a, {-1}, true); }, m);
    add_small(
        "max_rows", [](const auto& a) { return max(a, {-1}); }, m);
    add_small(
        "var_rows", [](const auto& a) { return var(a, {-1}); }, m);
    add_small(
        "reshape",
        [](const auto& a) {
            return reshape(a, {2, 16});
        },
        m);
    add_small(
        "transpose", [](const auto& a) { return transpose(a); }, m);
    add_small(
        "slice", [](const auto& a) { return slice(a, 1, 2, 6); }, m);
    add_small(
        "concat",
        [](const auto& a, const auto& b) {
            return concat({a, b}, 0);
        },
        m, w);
    add_small(
        "embedding", [=](const auto& a) { return embedding(a, ids); }, w);
    add_small(
        "matmul", [](const auto& a, const auto& b) { return matmul(a, b); }, m, w);
    add_small(
        "linear", [](const auto& a, const auto& b, const auto& c) { return linear(a, b, c); }, m, w,
        x);
    add_small(
        "softmax", [](const auto& a) { return softmax(a); }, m);
    add_small(
        "layer_norm",
        [](const auto& a, const auto& b, const auto& c) { return layer_norm(a, b, c); }, m, x, y);
    add_small(
        "cross_entropy", [=](const auto& a) { return cross_entropy(a, ids); }, m);
}

}  // namespace mercer::bench
