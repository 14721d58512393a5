#include "engine/ops/embedding.h"

#include "engine/cpu/index.h"
#include "engine/cpu/segment.h"
#include "engine/error.h"
#include "engine/ops/require.h"

namespace mercer {

Tensor Embedding::forward(const Attrs& attrs, std::span<const Tensor> in) {
    const OperationScope scope(name, in);
    const Tensor table = in[0].contiguous(), ids = in[1].contiguous();
    if (table.dtype() != DType::bf16) require_floating(name, table);
    if (table.rank() != 2)
        throw ShapeError(name, "the table must be (size, width), got ", table.shape());
    require_i64(name, "ids", ids);
    const int64_t *const id = ids.data<int64_t>(),
                         k = cpu::first_outside(id, ids.count(), attrs.size);
    if (k < ids.count()) throw ValueError(name, "id ", id[k], " is outside [0, ", attrs.size, ")");
    const int64_t width = table.shape()[1];
    const Tensor out = Tensor::empty(joined(ids.shape(), {width}), table.dtype());
    if (out.count() > 0)
        cpu::pick_rows({1, ids.count(), width, attrs.size, id, true}, table.dtype(), table.raw(),
                       out.raw());
    return out;
}

}  // namespace mercer
