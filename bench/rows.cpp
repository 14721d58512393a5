// Work on the rows of a matrix.
#include "bench/cases.h"

namespace mercer::bench {
namespace {

constexpr int64_t rows = 4096, columns = 1024, bytes = rows * columns * int64_t(sizeof(float));

constexpr auto softmax_of = [](const auto& x) { return softmax(x); };

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
}

}  // namespace mercer::bench
