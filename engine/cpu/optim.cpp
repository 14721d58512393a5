#include <algorithm>

#include "engine/cpu/dispatch.h"
#include "engine/cpu/optim_table.h"
#include "engine/parallel.h"

namespace mercer {

MERCER_DISPATCH(cpu::OptimTable, optim_table)

void cpu::adam_step(bool wide, void* p, const void* g, void* m, void* v, int64_t n,
                    const AdamConstants& c) {
    constexpr int64_t block = 1 << 14;
    const int64_t size = wide ? 8 : 4, blocks = (n + block - 1) / block;
    parallel_for(blocks, 2, [&](int64_t first, int64_t last) {
        const int64_t begin = first * block, count = std::min(n, last * block) - begin;
        const auto at = [&](auto* x) { return x + begin * size; };
        optim_table().adam[wide](at(static_cast<char*>(p)), at(static_cast<const char*>(g)),
                                 at(static_cast<char*>(m)), at(static_cast<char*>(v)), count, c);
    });
}

}  // namespace mercer
