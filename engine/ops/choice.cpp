#include "engine/ops/choice.h"

#include <bit>

#include "engine/cpu/broadcast.h"
#include "engine/cpu/compare_table.h"
#include "engine/cpu/copy.h"
#include "engine/error.h"
#include "engine/ops/require.h"

namespace mercer {

const cpu::CompareTable& compare_table();  // compare.cpp

Tensor Where::forward(const Attrs&, std::span<const Tensor> x) {
    if (x[0].dtype() != DType::boolean)
        throw DTypeError(name, "the mask must be bool, got ", x[0].dtype());
    require_same_dtype(name, x[1], x[2]);
    const auto kernel = compare_table().choose[std::countr_zero(size_of(x[1].dtype()))];
    return cpu::run_broadcast(name, kernel, 2, x[1].dtype(), {&x[1], &x[2], &x[0]});
}

Tensor Cast::forward(const Attrs& attrs, std::span<const Tensor> x) {
    x[0].require_defined(name);
    if (attrs.from == attrs.to) return x[0];
    Tensor out = Tensor::empty(x[0].shape(), attrs.to);
    cpu::convert(out, x[0]);
    return out;
}

}  // namespace mercer
