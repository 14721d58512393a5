#include "bench/ops/ops.h"

#include <set>

#include "engine/ops/registry.h"

namespace mercer::bench {
namespace {

std::set<std::string, std::less<>>& measured() {
    static std::set<std::string, std::less<>> names;
    return names;
}

}  // namespace

std::vector<std::string> operations_without_case() {
    std::vector<std::string> missing;
    for (const OperationInfo& info : operations())
        if (!measured().contains(info.name)) missing.emplace_back(info.name);
    return missing;
}

void add_op(const std::string& name, const Work& work,
            std::function<std::function<void()>(DType)> make) {
    measured().insert(name.substr(0, name.find('/')));
    for (DType dtype : {DType::f32, DType::f64})
        add_case("ops/" + name + " " + std::string(name_of(dtype)), [=](benchmark::State& state) {
            const std::function<void()> run = make(dtype);
            run();  // takes pages from the system, which the engine keeps
            for (auto _ : state) {
                run();
                benchmark::ClobberMemory();
            }
            if (work.flops) count_flops(state, work.flops);
            if (const double bytes = work.bytes * (dtype == DType::f64 ? 2 : 1) + work.fixed)
                count_bytes(state, int64_t(bytes));
            state.SetLabel(work.bound);
        });
}

void add_ops() {
#define FAMILY(name) add_ops_##name();
#include "bench/op_families.inc"
#undef FAMILY
}

}  // namespace mercer::bench
