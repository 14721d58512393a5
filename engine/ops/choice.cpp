#include "engine/ops/choice.h"

#include <array>
#include <bit>

#include "engine/cpu/broadcast.h"
#include "engine/cpu/choice_table.h"
#include "engine/cpu/copy.h"
#include "engine/cpu/dispatch.h"
#include "engine/error.h"
#include "engine/functions.h"
#include "engine/operation.h"
#include "engine/ops/require.h"

namespace mercer {
MERCER_DISPATCH(cpu::ChoiceTable, choice_table)

Tensor Where::forward(const Attrs&, std::span<const Tensor> x) {
    const OperationScope scope(name, x);
    if (x[0].dtype() != DType::boolean)
        throw DTypeError(name, "the mask must be bool, got ", x[0].dtype());
    require_same_dtype(name, x[1], x[2]);
    const auto kernel = choice_table().choose[std::countr_zero(size_of(x[1].dtype()))];
    const Shape shape = cpu::broadcast_shape(
        name, x[0].shape(), cpu::broadcast_shape(name, x[1].shape(), x[2].shape()));
    // Rows too short for the kernel, and not a long run of them: operands are written out.
    std::array<Strides, 4> strides{contiguous_strides(shape)};
    for (size_t k = 0; k < 3; ++k)
        strides[k + 1] = cpu::broadcast_strides(name, x[k].shape(), x[k].strides(), shape);
    const cpu::Walk walk = cpu::plan_walk(shape, strides);
    const int last = walk.shape.rank() - 1;
    const bool apart = walk.cols() < 64 && walk.rows() >= 64;
    bool run = apart && walk.shape[last - 1] >= 64;
    for (size_t k = 1; k < 4; ++k) run = run && walk.strides[k][last] <= 1;
    const auto whole = [&](const Tensor& t) {
        return run || !apart || t.count() == 1 ? t : broadcast_to(t, shape).contiguous();
    };
    const Tensor mask = whole(x[0]), a = whole(x[1]), b = whole(x[2]);
    return cpu::run_broadcast(name, kernel, 2, x[1].dtype(), {&a, &b, &mask});
}

Tensor Cast::forward(const Attrs& attrs, std::span<const Tensor> x) {
    const OperationScope scope(name, x);
    if (attrs.from == attrs.to) return x[0];
    Tensor out = Tensor::empty(x[0].shape(), attrs.to);
    cpu::convert(out, x[0]);
    return out;
}

}  // namespace mercer
