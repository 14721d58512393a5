#include "engine/ops/embedding.h"

#include <cstring>

#include "engine/cpu/join_rows.h"
#include "engine/cpu/segment.h"
#include "engine/error.h"
#include "engine/functions.h"
#include "engine/ops/rows.h"

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

Tensor Embedding::backward(const Attrs& attrs, const Tensor& from, const Tensor& gradient) {
    const OperationScope scope(name, {&from, &gradient});
    const Tensor ids = from.contiguous(), g = gradient.contiguous();
    const int64_t width = g.shape().back();
    const Tensor out = Tensor::empty({attrs.size, width}, g.dtype());
    cpu::join_rows(cpu::Reduction::sum,
                   {1, ids.count(), width, attrs.size, ids.data<int64_t>(), true}, 0, g.dtype(),
                   g.raw(), out.raw());
    if (attrs.padding >= 0 && attrs.padding < attrs.size && out.count())
        std::memset(at(out, attrs.padding * width), 0, size_t(width) * size_of(g.dtype()));
    return out;
}

}  // namespace mercer

#define MERCER_VALUE Tensor
#include "engine/ops/embedding.inl"
