// What an operation costs that computes almost nothing: z ← z + y, a thousand times, 8 elements.
#include "bench/cases.h"

namespace mercer::bench {
namespace {

constexpr int operations = 1000;

constexpr auto thousand = [](const auto& x, const auto& y) {
    auto z = x;
    for (int i = 0; i < operations; ++i) z = z + y;
    return z;
};

}  // namespace

void add_overhead() {
    add_case("overhead/add8_x1000/fwd", [](benchmark::State& state) {
        forward(state, thousand, normal(1, {8}), normal(2, {8}));
        state.SetItemsProcessed(state.iterations() * operations);
    });
    add_case("overhead/add8_x1000/fwdbwd", [](benchmark::State& state) {
        forward_backward(state, thousand, normal(1, {8}), normal(2, {8}));
        state.SetItemsProcessed(state.iterations() * operations);
    });
}

}  // namespace mercer::bench
