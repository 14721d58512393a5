// Work on the rows of a matrix.
#include "bench/cases.h"

namespace mercer::bench {
namespace {

constexpr int64_t rows = 4096, columns = 1024, bytes = rows * columns * int64_t(sizeof(float));

constexpr auto softmax_of = [](const auto& x) { return softmax(x); };
constexpr auto layer_norm_of = [](const auto& x, const auto& gain, const auto& bias) {
    return layer_norm(x, gain, bias);
};

constexpr int64_t samples = 2048, classes = 10000,
                  logits_bytes = samples * classes * int64_t(sizeof(float));

Tensor class_ids() {
    return cast(uniform(Key{1, 7}, {samples}, DType::f64, 0, double(classes)), DType::i64);
}

}  // namespace

void add_rows() {
    add_case("rows/softmax_4096x1024/fwd", [](benchmark::State& state) {
        forward(state, softmax_of, normal(1, {rows, columns}));
        count_bytes(state, 2 * bytes);
    });
    add_case("rows/softmax_4096x1024/fwdbwd", [](benchmark::State& state) {
        forward_backward(state, softmax_of, normal(1, {rows, columns}));
        count_bytes(state, 5 * bytes);
    });
    add_case("rows/layernorm_4096x1024/fwd", [](benchmark::State& state) {
        forward(state, layer_norm_of, normal(1, {rows, columns}), normal(2, {columns}),
                normal(3, {columns}));
        count_bytes(state, 2 * bytes);
    });
    add_case("rows/layernorm_4096x1024/fwdbwd", [](benchmark::State& state) {
        forward_backward(state, layer_norm_of, normal(1, {rows, columns}), normal(2, {columns}),
                         normal(3, {columns}));
        count_bytes(state, 5 * bytes);
    });
    add_case("rows/cross_entropy_2048x10000/fwd", [](benchmark::State& state) {
        const auto loss = [ids = class_ids()](const auto& x) { return cross_entropy(x, ids); };
        forward(state, loss, normal(1, {samples, classes}));
        count_bytes(state, logits_bytes);
    });
    add_case("rows/cross_entropy_2048x10000/fwdbwd", [](benchmark::State& state) {
        const auto loss = [ids = class_ids()](const auto& x) { return cross_entropy(x, ids); };
        forward_backward(state, loss, normal(1, {samples, classes}));
        count_bytes(state, 3 * logits_bytes);
    });
}

}  // namespace mercer::bench
