#include "engine/ops/choice.h"

#include <bit>

#include "engine/cpu/choice_table.h"
#include "engine/cpu/copy.h"
#include "engine/cpu/dispatch.h"
#include "engine/cpu/layout.h"
#include "engine/error.h"
#include "engine/functions.h"
#include "engine/operation.h"
#include "engine/ops/require.h"

namespace mercer {
MERCER_DISPATCH(cpu::ChoiceTable, choice_table)
namespace {

void choose(const Tensor& out, const Tensor& mask, const Tensor& a, const Tensor& b) {
    const auto strides_of = [&](const Tensor& x) {
        return cpu::broadcast_strides("where", x.shape(), x.strides(), out.shape());
    };
    const Strides strides[] = {out.strides(), strides_of(mask), strides_of(a), strides_of(b)};
    if (out.count() == 0) return;
    const cpu::Walk walk = cpu::plan_walk(out.shape(), strides);
    // Rows too short for a kernel: what repeats along them is written out.
    if (walk.cols() < 64 && walk.rows() >= 64) {
        const auto whole = [&](const Tensor& x) {
            return x.count() == 1 ? x : broadcast_to(x, out.shape()).contiguous();
        };
        return choose(out, whole(mask), whole(a), whole(b));
    }
    const int last = walk.shape.rank() - 1;
    const int64_t size = size_of(out.dtype()), row[3] = {};
    const Tensor* const operands[] = {&mask, &a, &b};
    const cpu::PointwiseFn kernel = choice_table().choose[std::countr_zero(uint64_t(size))];
    walk.for_pieces(1 << 14, 8, [&](const int64_t* at, int64_t first, int64_t n) {
        void* const to = static_cast<char*>(out.raw()) + (at[0] + first) * size;
        const void* in[3];
        int64_t column[3];
        for (int k = 0; k < 3; ++k) {
            column[k] = walk.strides[k + 1][last];
            in[k] = static_cast<const char*>(operands[k]->raw()) +
                    (at[k + 1] + first * column[k]) * (k == 0 ? 1 : size);
        }
        kernel({1, n, in, row, column, &to, n, nullptr, false});
    });
}

}  // namespace

Tensor Where::forward(const Attrs&, std::span<const Tensor> x) {
    const OperationScope scope(name, x);
    if (x[0].dtype() != DType::boolean)
        throw DTypeError(name, "the mask must be bool, got ", x[0].dtype());
    require_same_dtype(name, x[1], x[2]);
    const Shape shape = cpu::broadcast_shape(
        name, x[0].shape(), cpu::broadcast_shape(name, x[1].shape(), x[2].shape()));
    Tensor out = Tensor::empty(shape, x[1].dtype());
    choose(out, x[0], x[1], x[2]);
    return out;
}

Tensor Cast::forward(const Attrs& attrs, std::span<const Tensor> x) {
    const OperationScope scope(name, x);
    if (attrs.from == attrs.to) return x[0];
    Tensor out = Tensor::empty(x[0].shape(), attrs.to);
    cpu::convert(out, x[0]);
    return out;
}

}  // namespace mercer

#define MERCER_VALUE Tensor
#include "engine/ops/choice.inl"
