// Recurrent layers: forward, and forward and backward to all operands.
#include "bench/ops/ops.h"

namespace mercer::bench {
namespace {

void add(const std::string& kind, int64_t gates, int64_t steps, int64_t batch, int64_t inputs,
         int64_t units) {
    const std::string name = kind + "/T" + std::to_string(steps) + " B" + std::to_string(batch) +
                             " I" + std::to_string(inputs) + " H" + std::to_string(units);
    const double flops = 2.0 * double(steps * batch * gates * units * (inputs + units));
    const auto operands = [=](DType dtype) {
        std::vector<Tensor> x{normal(1, {steps, batch, inputs})};
        for (const Shape& s : {Shape{gates * units, inputs}, Shape{gates * units, units},
                               Shape{gates * units}, Shape{gates * units}})
            x.push_back(normal(x.size() + 1, s) * 0.08);
        for (Tensor& t : x) t = cast(t, dtype);
        return x;
    };
    const auto layer = [lstm_kind = gates == 4](const auto& x) {
        return lstm_kind ? lstm(x[0], {}, {}, x[1], x[2], x[3], x[4])[0]
                         : gru(x[0], {}, x[1], x[2], x[3], x[4])[0];
    };
    add_op(name + " fwd", {.flops = flops}, [=](DType dtype) {
        return [layer, x = operands(dtype)] { benchmark::DoNotOptimize(layer(x)); };
    });
    add_op(name + " fwdbwd", {.flops = 3 * flops}, [=](DType dtype) {
        auto tape = std::make_shared<Tape>();
        const Tensor g = cast(normal(9, {steps, batch, units}), dtype);
        return [=, x = operands(dtype)] {
            tape->reset();
            std::vector<Var> v;
            for (const Tensor& t : x) v.push_back(tape->watch(t));
            benchmark::DoNotOptimize(tape->gradient(layer(v), std::span<const Var>(v),
                                                    {.cotangents = {g}}));
        };
    });
}

}  // namespace

void add_ops_recurrent() {
    for (const auto& [kind, gates] : {std::pair{"lstm", 4}, std::pair{"gru", 3}}) {
        add(kind, gates, 64, 50, 300, 128);
        add(kind, gates, 128, 32, 256, 256);
    }
}

}  // namespace mercer::bench
