#include "engine/ops/dropout.h"

#include <algorithm>

#include "engine/cpu/random_table.h"
#include "engine/error.h"
#include "engine/ops/rows.h"

namespace mercer {

Tensor Dropout::forward(const Attrs& attrs, TensorRefs in) {
    require_floating(name, in[0]);
    if (!(attrs.p >= 0 && attrs.p < 1))
        throw ValueError(name, "p must be in [0, 1), got ", attrs.p);
    const Tensor x = in[0].contiguous(), y = Tensor::empty(x.shape(), x.dtype());
    constexpr int64_t block = cpu::random_block;
    const int64_t n = x.count(), blocks = (n + block - 1) / block;
    const auto kernel = random_table().dropout[x.dtype() == DType::f64];
    const bool stream = streams(x, 2);
    parallel_for(blocks, grain_for(block / 2), [&](int64_t first, int64_t last) {
        const int64_t begin = first * block;
        kernel(at(x, begin), at(y, begin), begin, std::min(n, last * block) - begin, attrs.key.seed,
               attrs.key.stream, attrs.p, stream);
    });
    return y;
}

}  // namespace mercer
