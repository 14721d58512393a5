#include "engine/ops/softmax.h"

#include "engine/cpu/dispatch.h"
#include "engine/cpu/softmax_table.h"
#include "engine/ops/tiles.h"

namespace mercer {

MERCER_DISPATCH(cpu::SoftmaxTable, softmax_table)

template <bool logarithm>
Tensor SoftmaxOf<logarithm>::forward(const Attrs& attrs, std::span<const Tensor> x) {
    require_floating(name, x[0]);
    const auto& table = softmax_table();
    const bool wide = x[0].dtype() == DType::f64;
    return along(attrs.axis, 24, table.forward[logarithm][wide],
                 table.forward_tile[logarithm][wide], x[0]);
}

template <bool logarithm>
Tensor SoftmaxOf<logarithm>::backward(const Attrs& attrs, const Tensor& y, const Tensor& g) {
    const OperationScope scope(name, {&y, &g});
    const auto& table = softmax_table();
    const bool wide = y.dtype() == DType::f64;
    // A gradient's rows may go past the caches; not the result's, which the derivative reads.
    const bool lines = y.size(attrs.axis) * int64_t(size_of(y.dtype())) % 64 == 0,
               stream = streams(y, 3) && (logarithm || lines);
    return along(
        attrs.axis, 0, [&](auto... args) { table.backward[logarithm][wide](args..., stream); },
        table.backward_tile[logarithm][wide], y, g);
}

template struct SoftmaxOf<false>;
template struct SoftmaxOf<true>;

}  // namespace mercer
