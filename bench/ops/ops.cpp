#include "bench/ops/ops.h"

namespace mercer::bench {

void add_op(const std::string& name, const Work& work,
            std::function<std::function<void()>(DType)> make) {
    for (DType dtype : {DType::f32, DType::f64})
        add_case("ops/" + name + " " + std::string(name_of(dtype)), [=](benchmark::State& state) {
            const std::function<void()> run = make(dtype);
            for (auto _ : state) {
                run();
                benchmark::ClobberMemory();
            }
            if (work.flops) count_flops(state, work.flops);
            if (work.bytes) count_bytes(state, int64_t(work.bytes * (dtype == DType::f64 ? 2 : 1)));
            state.SetLabel(work.bound);
        });
}

void add_ops() {
#define FAMILY(name) add_ops_##name();
#include "bench/op_families.inc"
#undef FAMILY
}

}  // namespace mercer::bench
