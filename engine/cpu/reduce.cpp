#include "engine/cpu/reduce.h"

#include <algorithm>

#include "engine/cpu/dispatch.h"
#include "engine/cpu/reduce_table.h"
#include "engine/parallel.h"

namespace mercer {

MERCER_DISPATCH(cpu::ReduceTable, reduce_table)

namespace cpu {
namespace {

constexpr int64_t chunk =
    1 << 14;  // a constant: the order of sums must not depend on threads or caches

}  // namespace

Tensor reduce(Reduction op, const Tensor& x, int64_t outer, int64_t n, int64_t inner,
              const Shape& shape) {
    const ReduceTable& table = reduce_table();
    const bool wide = x.dtype() == DType::f64;
    const int64_t element = int64_t(size_of(x.dtype())),
                  chunks = std::max<int64_t>(1, (n + chunk - 1) / chunk);
    Tensor partial = Tensor::empty({outer, chunks, inner}, x.dtype());
    const char* from = static_cast<const char*>(x.raw());
    char* to = static_cast<char*>(partial.raw());
    const int64_t block = inner == 1 ? 1 : 256, blocks = (inner + block - 1) / block;
    parallel_for(outer * chunks * blocks, grain_for(std::min(n, chunk) * block / 8),
                 [&](int64_t begin, int64_t end) {
                     for (int64_t item = begin; item < end; ++item) {
                         const int64_t column = item % blocks * block, piece = item / blocks,
                                       first = piece % chunks * chunk;
                         const int64_t count = std::min(n - first, chunk),
                                       width = std::min(inner - column, block);
                         const char* source =
                             from + ((piece / chunks * n + first) * inner + column) * element;
                         char* target = to + (piece * inner + column) * element;
                         if (inner == 1)
                             table.run[int(op)][wide](source, count, target);
                         else
                             table.columns[int(op)][wide](source, count, inner, width, target);
                     }
                 });
    if (chunks > 1) return reduce(op, partial, outer, chunks, inner, shape);
    return partial.view(shape, contiguous_strides(shape), 0);
}

}  // namespace cpu
}  // namespace mercer
