#include "engine/ops/dropout.h"

#include <algorithm>

#include "engine/cpu/dispatch.h"
#include "engine/cpu/random_table.h"
#include "engine/error.h"
#include "engine/functions.h"
#include "engine/memory.h"
#include "engine/ops/rows.h"

namespace mercer {

// Defined in random.cpp.
const cpu::RandomTable& random_table();

Tensor Dropout::forward(const Attrs& attrs, std::span<const Tensor> in) {
    const OperationScope scope(name, in);
    require_floating(name, in[0]);
    if (!(attrs.p >= 0 && attrs.p < 1))
        throw ValueError(name, "p must be in [0, 1), got " + std::to_string(attrs.p));
    const Tensor x = in[0].contiguous(), y = Tensor::empty(x.shape(), x.dtype());
    constexpr int64_t block = cpu::random_block;
    const int64_t n = x.count(), blocks = (n + block - 1) / block;
    const auto uniform = random_table().uniform[0];
    visit(x.dtype(), [&]<class T>(T) {
        const T scale = T(1 / (1 - attrs.p));
        const float p = float(attrs.p);
        parallel_for(blocks, grain_for(block * 2), [&](int64_t first, int64_t last) {
            float u[block];  // f32 for both dtypes: the mask does not depend on it
            for (int64_t begin = first * block; begin < std::min(n, last * block); begin += block) {
                const int64_t count = std::min(block, n - begin);
                uniform(u, begin, count, attrs.key.seed, attrs.key.stream, 0, 1);
                const T* from = static_cast<const T*>(x.raw()) + begin;
                T* to = static_cast<T*>(y.raw()) + begin;
                for (int64_t i = 0; i < count; ++i) to[i] = u[i] >= p ? from[i] * scale : T(0);
            }
        });
    });
    return y;
}

Tensor dropout(const Tensor& x, double p, Key key) { return compute<Dropout>({p, key}, {&x, 1}); }

}  // namespace mercer
